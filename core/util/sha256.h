#pragma once
// SHA-256 by OpenSSL, incremental, without OpenSSL in the header.

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace difr {

using Digest = std::array<std::uint8_t, 32>;

class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();

  Sha256& update(std::span<const std::uint8_t> bytes);
  Sha256& update(std::string_view bytes);
  /// Length-prefixed (8 bytes, little-endian), so that adjacent fields cannot flow into each other.
  Sha256& field(std::string_view bytes);
  Sha256& field(std::span<const std::uint8_t> bytes);
  Sha256& field(std::int64_t value);
  /// Ends the computation; the object starts afresh afterwards.
  [[nodiscard]] Digest finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

[[nodiscard]] std::string to_hex(std::span<const std::uint8_t> bytes);
[[nodiscard]] std::string sha256_hex(std::string_view bytes);
/// Streams the file; throws difr::Error when it cannot be read.
[[nodiscard]] std::string sha256_file(const std::filesystem::path& path);

}  // namespace difr
