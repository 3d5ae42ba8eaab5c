#pragma once
// Loads the golden safetensors and JSON files for the tests in this folder.

#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/fingerprint/float_formats.h"
#include "core/util/safetensors_header.h"

namespace golden {

inline std::vector<std::uint8_t> bytes_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot open " + path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline nlohmann::json json_of(const std::string& path) {
  const auto bytes = bytes_of(path);
  return nlohmann::json::parse(bytes.begin(), bytes.end());
}

class Tensors {
 public:
  explicit Tensors(const std::string& path) : file_(bytes_of(path)) {
    const auto length = difr::safetensors_header_length(file_, file_.size(), path);
    header_ =
        difr::parse_safetensors_header({reinterpret_cast<const char*>(file_.data()) + 8, length}, file_.size(), path);
  }
  [[nodiscard]] const difr::SafetensorsHeader& header() const { return header_; }
  [[nodiscard]] bool has(const std::string& name) const { return header_.find(name) != nullptr; }
  [[nodiscard]] std::vector<std::int64_t> shape(const std::string& name) const { return entry(name).shape; }
  template <typename T>
  [[nodiscard]] std::vector<T> raw(const std::string& name) const {
    const auto& tensor = entry(name);
    std::vector<T> values(tensor.elements);
    if (values.size() * sizeof(T) != tensor.end - tensor.begin) throw std::runtime_error(name + ": other width");
    std::memcpy(values.data(), file_.data() + header_.data_start + tensor.begin, tensor.end - tensor.begin);
    return values;
  }
  [[nodiscard]] std::vector<std::uint16_t> bits(const std::string& name) const { return raw<std::uint16_t>(name); }
  [[nodiscard]] std::vector<float> floats(const std::string& name) const {
    if (entry(name).dtype == "F32") return raw<float>(name);
    if (entry(name).dtype != "BF16") throw std::runtime_error(name + ": neither F32 nor BF16");
    std::vector<float> values;
    for (const auto word : bits(name)) values.push_back(difr::bf16_to_float(word));
    return values;
  }

 private:
  [[nodiscard]] const difr::SafetensorsEntry& entry(const std::string& name) const {
    const auto* found = header_.find(name);
    if (found == nullptr) throw std::runtime_error("no tensor " + name);
    return *found;
  }
  std::vector<std::uint8_t> file_;
  difr::SafetensorsHeader header_;
};

/// Row views of a flat n x d array.
template <typename T>
std::vector<std::span<const T>> rows(const std::vector<T>& flat, std::size_t d) {
  std::vector<std::span<const T>> views;
  for (std::size_t i = 0; i + d <= flat.size(); i += d) views.emplace_back(flat.data() + i, d);
  return views;
}

}  // namespace golden
