#include <ATen/CPUGeneratorImpl.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>

#include "rival.h"

namespace {

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

}  // namespace

double rival_noise_seconds(int vocab, int repetitions) {
  torch::NoGradGuard guard;
  at::set_num_threads(1);
  auto generator = at::detail::createCPUGenerator(42);
  std::vector<double> runs;
  for (int i = 0; i < repetitions; ++i) {
    runs.push_back(seconds_of([&] { torch::empty({vocab}).exponential_(1.0, generator).log().neg(); }));
  }
  return median(runs);
}

double rival_score_seconds(const std::vector<float>& logits, int rows, int vocab, double top_p, int repetitions) {
  torch::NoGradGuard guard;
  at::set_num_threads(1);
  auto z = torch::from_blob(const_cast<float*>(logits.data()), {rows, vocab});
  auto y = torch::randint(vocab, {rows}, torch::kLong);
  auto index = torch::arange(rows);
  std::vector<double> runs;
  for (int i = 0; i < repetitions; ++i) {
    runs.push_back(seconds_of([&] {
      auto x = z / 1.0;
      if (top_p < 1.0) {
        auto [s, order] = x.sort(-1);
        auto drop = s.softmax(-1).cumsum(-1).le(1.0 - top_p);
        drop.select(1, vocab - 1).fill_(false);
        s = s.masked_fill(drop, -INFINITY);
        x = torch::empty_like(x).scatter_(1, order, s);
      }
      auto generator = at::detail::createCPUGenerator(42);
      std::vector<torch::Tensor> noise;
      for (int r = 0; r < rows; ++r) noise.push_back(torch::empty({vocab}).exponential_(1.0, generator));
      auto sum = x - torch::stack(noise).log();
      auto own = sum.index({index, y});
      auto exact = sum.argmax(1).eq(y);
      auto margin = std::get<0>(sum.max(1)) - own;
      auto rank = z.gt(z.index({index, y}).unsqueeze(1)).sum(1);
      auto gumbel_rank = sum.gt(own.unsqueeze(1)).sum(1);
      auto log_prob = z.log_softmax(-1).index({index, y});
    }));
  }
  return median(runs);
}
