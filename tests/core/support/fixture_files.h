#pragma once
// Readers of the golden files, for tests only: they trust their input.

#include <simdjson.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace difr::test {

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Numbers of the golden JSON files: plain, hex floats in strings, or "inf", "-inf", "nan".
inline double number(simdjson::dom::element e) {
  if (e.is_string()) return std::strtod(std::string(e.get_string().value()).c_str(), nullptr);
  if (e.is_int64()) return static_cast<double>(e.get_int64().value());
  if (e.is_uint64()) return static_cast<double>(e.get_uint64().value());
  return e.get_double().value();
}

class Safetensors {
 public:
  struct Tensor {
    std::string dtype;
    std::vector<std::size_t> shape;
    std::size_t begin = 0, end = 0;
  };

  explicit Safetensors(const std::string& path) : bytes_(read_file(path)) {
    std::uint64_t header = 0;
    std::memcpy(&header, bytes_.data(), 8);
    data_ = 8 + header;
    simdjson::dom::parser parser;
    for (const auto [key, value] : parser.parse(bytes_.substr(8, header)).get_object()) {
      if (key == "__metadata__") continue;
      Tensor t;
      t.dtype = std::string(value["dtype"].get_string().value());
      for (const auto n : value["shape"].get_array()) t.shape.push_back(n.get_uint64().value());
      t.begin = value["data_offsets"].at(0).get_uint64().value();
      t.end = value["data_offsets"].at(1).get_uint64().value();
      tensors_[std::string(key)] = t;
    }
  }
  [[nodiscard]] bool has(const std::string& name) const { return tensors_.count(name) > 0; }
  [[nodiscard]] const std::map<std::string, Tensor>& tensors() const { return tensors_; }
  template <class T>
  [[nodiscard]] std::vector<T> get(const std::string& name) const {
    const auto& t = tensors_.at(name);
    std::vector<T> out((t.end - t.begin) / sizeof(T));
    std::memcpy(out.data(), bytes_.data() + data_ + t.begin, t.end - t.begin);
    return out;
  }
  /// bf16 or fp32 tensors as fp32.
  [[nodiscard]] std::vector<float> floats(const std::string& name) const {
    if (tensors_.at(name).dtype != "BF16") return get<float>(name);
    const auto raw = get<std::uint16_t>(name);
    std::vector<float> out(raw.size());
    for (std::size_t i = 0; i < raw.size(); ++i) {
      const std::uint32_t wide = static_cast<std::uint32_t>(raw[i]) << 16;
      std::memcpy(&out[i], &wide, 4);
    }
    return out;
  }

 private:
  std::string bytes_;
  std::size_t data_ = 0;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace difr::test
