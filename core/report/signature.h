#pragma once
// Ed25519 signatures of the report's manifest (OpenSSL).

#include <filesystem>
#include <string>
#include <string_view>

namespace difr::report {

/// Ed25519 with keys in PEM files. Throws difr::Error when a key is unreadable or of another kind.
[[nodiscard]] std::string ed25519_sign(std::string_view message, const std::filesystem::path& private_key_pem);
[[nodiscard]] std::string ed25519_public_hex(const std::filesystem::path& key_pem);  ///< of a private or public PEM
/// False for a wrong signature and for malformed hex.
[[nodiscard]] bool ed25519_verify(std::string_view message, std::string_view signature_hex,
                                  std::string_view public_hex);

}  // namespace difr::report
