#pragma once
// MT19937 as CPU generators of PyTorch and llama.cpp use it: init_genrand, 32-bit words.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace difr {

/// Matsumoto and Nishimura's generator; the state is renewed in whole blocks so that the loops vectorise.
class Mt19937 {
 public:
  static constexpr int kWords = 624;

  explicit Mt19937(std::uint32_t seed) {
    state_[0] = seed;
    for (std::uint32_t i = 1; i < kWords; ++i) {
      state_[i] = 1812433253U * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
    }
  }

  std::uint32_t operator()() {
    if (index_ == kWords) renew();
    return words_[index_++];
  }
  /// Two words, high word first: PyTorch's random64().
  std::uint64_t next64() {
    const std::uint64_t high = (*this)();
    return (high << 32) | (*this)();
  }
  void fill(std::span<std::uint32_t> out) {
    for (std::size_t done = 0; done < out.size();) {
      if (index_ == kWords) renew();
      const std::size_t step = std::min(out.size() - done, static_cast<std::size_t>(kWords - index_));
      std::copy_n(words_.begin() + index_, step, out.begin() + static_cast<std::ptrdiff_t>(done));
      index_ += static_cast<int>(step);
      done += step;
    }
  }
  void discard(std::uint64_t words) {
    while (words > 0) {
      if (index_ == kWords) renew();
      const std::uint64_t left = static_cast<std::uint64_t>(kWords - index_);
      const std::uint64_t step = words < left ? words : left;
      index_ += static_cast<int>(step);
      words -= step;
    }
  }

 private:
  void renew();

  std::array<std::uint32_t, kWords> state_{};
  std::array<std::uint32_t, kWords> words_{};  ///< tempered output of the current block
  int index_ = kWords;
};

}  // namespace difr
