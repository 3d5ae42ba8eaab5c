#pragma once
// Reads the goldens of tests/data/auc: hex floats in JSON and plain safetensors.

#include <simdjson.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace difr::golden {

/// Numbers are written as C hex floats, "inf" or "nan", or as plain JSON numbers.
inline double number(simdjson::dom::element element) {
  if (element.is_string()) return std::strtod(std::string(std::string_view(element)).c_str(), nullptr);
  return double(element);
}

inline std::vector<double> numbers(simdjson::dom::element element) {
  std::vector<double> values;
  for (simdjson::dom::element item : element.get_array()) values.push_back(number(item));
  return values;
}

/// |a - b| <= absolute + relative |b|; false when either is NaN. Equal infinities agree.
inline bool near(double a, double b, double relative, double absolute = 0) {
  return a == b || std::abs(a - b) <= absolute + relative * std::abs(b);
}

class Tensors {
 public:
  explicit Tensors(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
    if (bytes_.size() < 8) throw std::runtime_error("cannot read " + path);
    std::uint64_t header = 0;
    std::memcpy(&header, bytes_.data(), 8);
    data_ = 8 + header;
    root_ = parser_.parse(bytes_.data() + 8, header);
  }

  [[nodiscard]] std::vector<double> values(const std::string& name) const {
    const simdjson::dom::element tensor = root_.at_key(name);
    const std::string type{std::string_view(tensor["dtype"])};
    const std::uint64_t begin = tensor["data_offsets"].at(0).get_uint64();
    const std::uint64_t end = tensor["data_offsets"].at(1).get_uint64();
    if (type == "F64") return read<double>(begin, end);
    if (type == "F32") return read<float>(begin, end);
    if (type == "I32") return read<std::int32_t>(begin, end);
    if (type == "I16") return read<std::int16_t>(begin, end);
    if (type == "U8") return read<std::uint8_t>(begin, end);
    throw std::runtime_error("unexpected type " + type);
  }
  [[nodiscard]] std::size_t columns(const std::string& name) const {
    return root_.at_key(name)["shape"].at(1).get_uint64();
  }

 private:
  template <class T>
  [[nodiscard]] std::vector<double> read(std::uint64_t begin, std::uint64_t end) const {
    std::vector<double> result;
    for (std::uint64_t at = data_ + begin; at < data_ + end; at += sizeof(T)) {
      T value;
      std::memcpy(&value, bytes_.data() + at, sizeof(T));
      result.push_back(static_cast<double>(value));
    }
    return result;
  }

  std::string bytes_;
  std::uint64_t data_ = 0;
  simdjson::dom::parser parser_;
  simdjson::dom::element root_;
};

}  // namespace difr::golden
