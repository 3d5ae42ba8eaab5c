#include "gpu/weights/weight_source.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <memory>

#include "core/util/error.h"

namespace difr::gpu {

std::int64_t TensorInfo::elements() const {
  std::int64_t n = 1;
  for (const auto d : shape) n *= d;
  return n;
}

const TensorInfo* WeightSource::find(std::string_view name) const {
  const auto all = tensors();
  const auto it = std::ranges::lower_bound(all, name, {}, &TensorInfo::name);
  return it != all.end() && it->name == name ? &*it : nullptr;
}

namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1)
      throw environment_error("SHA-256", "OpenSSL offers no SHA-256", "check the OpenSSL installation");
  }
  void add(const void* data, std::size_t size) { EVP_DigestUpdate(context_.get(), data, size); }
  void add(std::uint64_t value) {
    std::array<unsigned char, 8> bytes;
    for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(value >> (8 * i));
    add(bytes.data(), bytes.size());
  }
  void add(std::string_view text) {
    add(std::uint64_t{text.size()});
    add(text.data(), text.size());
  }
  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned int size = 0;
    EVP_DigestFinal_ex(context_.get(), digest.data(), &size);
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (unsigned int i = 0; i < size; ++i) {
      text += kDigits[digest[i] >> 4];
      text += kDigits[digest[i] & 15];
    }
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string weights_digest(const WeightSource& source) {
  Sha256 sha;
  sha.add(std::string_view("difr-weights-1"));
  for (const auto& tensor : source.tensors()) {
    sha.add(std::string_view(tensor.name));
    sha.add(std::string_view(tensor.type));
    sha.add(std::uint64_t{tensor.shape.size()});
    for (const auto d : tensor.shape) sha.add(static_cast<std::uint64_t>(d));
    sha.add(std::uint64_t{tensor.bytes.size()});
    sha.add(tensor.bytes.data(), tensor.bytes.size());
  }
  return sha.hex();
}

}  // namespace difr::gpu
