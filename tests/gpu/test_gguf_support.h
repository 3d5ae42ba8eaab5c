#pragma once
// Reading goldens, and writing small GGUF files that are wrong on purpose.

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

inline std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// One F32 tensor of a safetensors file; empty when it is not there.
inline std::vector<float> golden_floats(const std::string& file, const std::string& name) {
  std::uint64_t length = 0;
  if (file.size() < 8) return {};
  std::memcpy(&length, file.data(), 8);
  const auto header = nlohmann::json::parse(file.substr(8, length));
  if (!header.contains(name)) return {};
  const auto offsets = header[name]["data_offsets"].get<std::vector<std::size_t>>();
  std::vector<float> values((offsets[1] - offsets[0]) / 4);
  std::memcpy(values.data(), file.data() + 8 + length + offsets[0], offsets[1] - offsets[0]);
  return values;
}

/// Builds GGUF files byte by byte; nothing is checked.
class GgufBytes {
 public:
  template <class T>
  GgufBytes& put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }
  GgufBytes& string(std::string_view text) {
    put<std::uint64_t>(text.size());
    bytes_.append(text);
    return *this;
  }
  GgufBytes& header(std::uint64_t tensors, std::uint64_t keys, std::uint32_t version = 3) {
    bytes_.append("GGUF");
    return put<std::uint32_t>(version).put<std::uint64_t>(tensors).put<std::uint64_t>(keys);
  }
  GgufBytes& u32_key(std::string_view key, std::uint32_t value) {
    return string(key).put<std::uint32_t>(4).put<std::uint32_t>(value);
  }
  GgufBytes& tensor(std::string_view name, const std::vector<std::uint64_t>& inner_first, std::uint32_t type,
                    std::uint64_t offset) {
    string(name).put<std::uint32_t>(static_cast<std::uint32_t>(inner_first.size()));
    for (const auto d : inner_first) put<std::uint64_t>(d);
    return put<std::uint32_t>(type).put<std::uint64_t>(offset);
  }
  GgufBytes& data(std::size_t size, std::size_t alignment = 32) {
    bytes_.append((alignment - bytes_.size() % alignment) % alignment, '\0');
    bytes_.append(size, '\x3c');
    return *this;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};
