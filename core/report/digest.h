#pragma once
// SHA-256 and Ed25519 of the report's manifest (OpenSSL).

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace difr::report {

/// Incremental SHA-256; little-endian numbers, so that a digest means the same on every machine.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void add(std::string_view bytes);
  template <class T>
  void add_values(const T* values, std::size_t n) {
    static_assert(std::is_trivially_copyable_v<T>);
    add(std::string_view(reinterpret_cast<const char*>(values), n * sizeof(T)));
  }
  [[nodiscard]] std::string hex();  ///< ends the digest

 private:
  void* context_;
};

[[nodiscard]] std::string sha256_hex(std::string_view bytes);
/// Streams; nullopt when the file cannot be read.
[[nodiscard]] std::optional<std::string> sha256_file(const std::filesystem::path& path);

/// Ed25519 with keys in PEM files. Throws difr::Error when a key is unreadable or of another kind.
[[nodiscard]] std::string ed25519_sign(std::string_view message, const std::filesystem::path& private_key_pem);
[[nodiscard]] std::string ed25519_public_hex(const std::filesystem::path& key_pem);  ///< of a private or public PEM
/// False for a wrong signature and for malformed hex.
[[nodiscard]] bool ed25519_verify(std::string_view message, std::string_view signature_hex,
                                  std::string_view public_hex);

}  // namespace difr::report
