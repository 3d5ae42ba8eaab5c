#include "core/report/digest.h"

#include <openssl/evp.h>
#include <openssl/pem.h>

#include <array>
#include <bit>
#include <cstdio>
#include <fstream>
#include <memory>
#include <vector>

#include "core/util/error.h"

namespace difr::report {
namespace {

static_assert(std::endian::native == std::endian::little, "digests are defined over little-endian values");

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

std::string to_hex(const unsigned char* bytes, std::size_t n) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < n; ++i) {
    out += digits[bytes[i] >> 4];
    out += digits[bytes[i] & 15];
  }
  return out;
}

std::vector<unsigned char> from_hex(std::string_view hex) {
  const auto value = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  std::vector<unsigned char> out;
  if (hex.size() % 2) return out;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const int high = value(hex[i]), low = value(hex[i + 1]);
    if (high < 0 || low < 0) return {};
    out.push_back(static_cast<unsigned char>(high * 16 + low));
  }
  return out;
}

Key read_key(const std::filesystem::path& path, bool need_private) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) throw bad_input(path.string(), "cannot open the key file", "give a PEM file that this user may read");
  Key key(PEM_read_PrivateKey(file.get(), nullptr, nullptr, const_cast<char*>("")), &EVP_PKEY_free);
  if (!key && !need_private) {
    std::rewind(file.get());
    key.reset(PEM_read_PUBKEY(file.get(), nullptr, nullptr, nullptr));
  }
  if (!key || EVP_PKEY_base_id(key.get()) != EVP_PKEY_ED25519) {
    throw bad_input(path.string(), need_private ? "holds no unencrypted Ed25519 private key" : "holds no Ed25519 key",
                    "make one with: openssl genpkey -algorithm ed25519 -out key.pem");
  }
  return key;
}

}  // namespace

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_), EVP_sha256(), nullptr);
}
Sha256::~Sha256() {
  EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context_));
}
void Sha256::add(std::string_view bytes) {
  EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_), bytes.data(), bytes.size());
}
std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_), digest.data(), &size);
  return to_hex(digest.data(), size);
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 digest;
  digest.add(bytes);
  return digest.hex();
}

std::optional<std::string> sha256_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  Sha256 digest;
  std::vector<char> buffer(1 << 20);
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || in.gcount() > 0) {
    digest.add({buffer.data(), static_cast<std::size_t>(in.gcount())});
  }
  if (in.bad()) return std::nullopt;
  return digest.hex();
}

std::string ed25519_sign(std::string_view message, const std::filesystem::path& private_key_pem) {
  const Key key = read_key(private_key_pem, true);
  const Context context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  std::array<unsigned char, 64> signature{};
  std::size_t size = signature.size();
  if (EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), signature.data(), &size, reinterpret_cast<const unsigned char*>(message.data()),
                     message.size()) != 1) {
    throw environment_error(private_key_pem.string(), "OpenSSL could not sign");
  }
  return to_hex(signature.data(), size);
}

std::string ed25519_public_hex(const std::filesystem::path& key_pem) {
  const Key key = read_key(key_pem, false);
  std::array<unsigned char, 32> raw{};
  std::size_t size = raw.size();
  if (EVP_PKEY_get_raw_public_key(key.get(), raw.data(), &size) != 1)
    throw environment_error(key_pem.string(), "OpenSSL could not read the key");
  return to_hex(raw.data(), size);
}

bool ed25519_verify(std::string_view message, std::string_view signature_hex, std::string_view public_hex) {
  const auto signature = from_hex(signature_hex), raw = from_hex(public_hex);
  if (signature.size() != 64 || raw.size() != 32) return false;
  const Key key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw.data(), raw.size()), &EVP_PKEY_free);
  const Context context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  return key && EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), signature.data(), signature.size(),
                          reinterpret_cast<const unsigned char*>(message.data()), message.size()) == 1;
}

}  // namespace difr::report
