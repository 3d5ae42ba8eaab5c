// Speed and memory of the local reference on a provider log: tokens (prompt + output) per second of teacher-forced
// prefill with logits of every output position, without scoring. Prints one JSON object.
//
//   bench_prefill MODEL LOG.json [fp32|bf16|fp16] [threads] [batch_tokens]

#include <fmt/format.h>
#include <simdjson.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <exception>

#include "gpu/reference_engine.h"

namespace {

using namespace difr;

struct Request {
  std::vector<TokenId> prompt, output;
};

std::vector<TokenId> ids(simdjson::dom::element element) {
  std::vector<TokenId> list;
  for (const auto id : element.get_array()) list.push_back(static_cast<TokenId>(std::int64_t(id)));
  return list;
}

std::vector<Request> read_log(const char* path) {
  simdjson::dom::parser parser;
  std::vector<Request> requests;
  for (const auto sample : parser.load(path)["samples"].get_array())
    requests.push_back({ids(sample["prompt_token_ids"]), ids(sample["outputs"].at(0)["token_ids"])});
  return requests;
}

int bench(int argc, char** argv) {
  const auto requests = read_log(argv[2]);
  gpu::EngineOptions options;
  if (argc > 3) options.dtype = gpu::parse_dtype(argv[3]);
  if (argc > 4) options.threads = std::stoi(argv[4]);
  if (argc > 5) options.batch_tokens = std::stoi(argv[5]);
  const auto load_start = std::chrono::steady_clock::now();
  const auto engine = gpu::load_engine(argv[1], options);
  const auto start = std::chrono::steady_clock::now();
  std::vector<gpu::Sequence> sequences;
  std::size_t tokens = 0;
  for (const auto& r : requests) {
    sequences.push_back({r.prompt, r.output});
    tokens += r.prompt.size() + r.output.size();
  }
  std::size_t rows = 0;
  double sum = 0;
  engine->score(sequences,
                [&](std::size_t, int, int n, std::span<const float> logits, std::span<const float>) {
                  rows += static_cast<std::size_t>(n);
                  sum += logits[0];
                },
                {});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      R"({{"dtype":"{}","threads":{},"tokens":{},"rows":{},"load_s":{:.2f},"seconds":{:.3f},"tokens_per_s":{:.1f},"cpu_s":{:.2f},"peak_mib":{},"check":{:.6g}}})"
      "\n",
      engine->environment().dtype, engine->environment().threads, tokens, rows,
      std::chrono::duration<double>(start - load_start).count(), seconds, static_cast<double>(tokens) / seconds,
      static_cast<double>(usage.ru_utime.tv_sec) + 1e-6 * static_cast<double>(usage.ru_utime.tv_usec),
      usage.ru_maxrss / 1024, sum);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: bench_prefill MODEL LOG.json [fp32|bf16|fp16] [threads] [batch_tokens]\n", stderr);
    return 2;
  }
  try {
    return bench(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
