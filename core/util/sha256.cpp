#include "core/util/sha256.h"

#include <openssl/evp.h>

#include <fstream>
#include <vector>

#include "core/util/error.h"

namespace difr {

struct Sha256::Impl {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};

  void start() {
    if (!context || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1)
      throw environment_error("OpenSSL", "SHA-256 is not available", "check the OpenSSL providers of this system");
  }
};

Sha256::Sha256() : impl_(std::make_unique<Impl>()) {
  impl_->start();
}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

Sha256& Sha256::update(std::span<const std::uint8_t> bytes) {
  if (EVP_DigestUpdate(impl_->context.get(), bytes.data(), bytes.size()) != 1)
    throw environment_error("OpenSSL", "SHA-256 failed");
  return *this;
}

Sha256& Sha256::update(std::string_view bytes) {
  return update(std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
}

Sha256& Sha256::field(std::string_view bytes) {
  return field(static_cast<std::int64_t>(bytes.size())).update(bytes);
}

Sha256& Sha256::field(std::span<const std::uint8_t> bytes) {
  return field(static_cast<std::int64_t>(bytes.size())).update(bytes);
}

Sha256& Sha256::field(std::int64_t value) {
  std::array<std::uint8_t, 8> little{};
  for (std::size_t i = 0; i < little.size(); ++i)
    little[i] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> (8 * i));
  return update(little);
}

Digest Sha256::finish() {
  Digest digest{};
  unsigned length = 0;
  if (EVP_DigestFinal_ex(impl_->context.get(), digest.data(), &length) != 1 || length != digest.size())
    throw environment_error("OpenSSL", "SHA-256 failed");
  impl_->start();
  return digest;
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const auto byte : bytes) {
    hex += digits[byte >> 4];
    hex += digits[byte & 15];
  }
  return hex;
}

std::string sha256_hex(std::string_view bytes) {
  return to_hex(Sha256().update(bytes).finish());
}

std::string sha256_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw bad_input(path.string(), "cannot be opened for reading", "check the path and its permissions");
  std::vector<char> buffer(1u << 20);
  Sha256 hash;
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || in.gcount() > 0)
    hash.update(std::string_view(buffer.data(), static_cast<std::size_t>(in.gcount())));
  if (in.bad()) throw bad_input(path.string(), "reading failed half-way", "check the disk or the network share");
  return to_hex(hash.finish());
}

}  // namespace difr
