#include "core/report/signature.h"

#include <openssl/evp.h>
#include <openssl/pem.h>

#include <array>
#include <cstdio>
#include <memory>
#include <span>
#include <vector>

#include "core/util/error.h"
#include "core/util/sha256.h"

namespace difr::report {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

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
  return to_hex(std::span(signature.data(), size));
}

std::string ed25519_public_hex(const std::filesystem::path& key_pem) {
  const Key key = read_key(key_pem, false);
  std::array<unsigned char, 32> raw{};
  std::size_t size = raw.size();
  if (EVP_PKEY_get_raw_public_key(key.get(), raw.data(), &size) != 1)
    throw environment_error(key_pem.string(), "OpenSSL could not read the key");
  return to_hex(std::span(raw.data(), size));
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
