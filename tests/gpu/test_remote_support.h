#pragma once
// What the tests of the remote reference share: options, texts, honest claims and cases.

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "core/casefile/case_file.h"
#include "core/sampling/profile.h"
#include "core/util/error.h"
#include "gpu/remote/remote_reference.h"
#include "gpu/test_remote_server.h"

namespace remote_test {

using namespace difr;
using namespace difr::gpu;
using namespace std::chrono_literals;

inline RemoteOptions options_for(const FakeServer& server) {
  RemoteOptions options;
  options.url = server.url();
  options.vocab = MadeUpModel::kVocab;
  options.attempts = 4;
  options.first_backoff = 5ms;
  options.longest_wait = 2000ms;
  options.limits.connect = 2000ms;
  options.limits.total = 5000ms;
  return options;
}

inline std::vector<TokenId> some_tokens(int count, int salt) {
  std::vector<TokenId> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back((i * 7 + salt * 13 + i * i * 3) % MadeUpModel::kVocab);
  return tokens;
}

struct Texts {
  std::vector<std::vector<TokenId>> prompts, outputs;
  std::vector<Sequence> sequences;
  explicit Texts(int count, int output = 9) {
    for (int i = 0; i < count; ++i) {
      prompts.push_back(some_tokens(5 + i % 3, i));
      outputs.push_back(some_tokens(output, 100 + i));
    }
    for (int i = 0; i < count; ++i)
      sequences.push_back({prompts[static_cast<std::size_t>(i)], outputs[static_cast<std::size_t>(i)]});
  }
};

/// The difr::Error that `call` ends with; empty when there is none.
template <class Call>
std::string error_of(Call call, ExitCode code = ExitCode::environment) {
  try {
    call();
    return {};
  } catch (const Error& error) {
    return error.code() == code && !error.remedy().empty() ? error.what()
                                                           : "wrong code or no remedy: " + std::string(error.what());
  }
}

inline bool has(const std::string& text, const char* part) {
  if (text.find(part) != std::string::npos) return true;
  std::fprintf(stderr, "'%s' lacks '%s'\n", text.c_str(), part);
  return false;
}

/// A provider that runs the made-up model honestly under a real sampler.
inline Claim honest_claim(int index, const SamplerProfile& profile) {
  Claim claim;
  claim.external_id = "r" + std::to_string(index);
  claim.record = index;
  claim.prompt = some_tokens(6, index);
  claim.seed = 1000 + index;
  claim.seed_origin = SeedOrigin::requested;
  const auto noise = make_noise(profile, {.seed = *claim.seed, .prompt_len = 6, .vocab = MadeUpModel::kVocab});
  auto tokens = claim.prompt;
  std::vector<double> g(MadeUpModel::kVocab);
  for (int t = 0; t < 12; ++t) {
    const auto logits = MadeUpModel::logits(tokens);
    noise->row(t, g);
    std::size_t best = 0;
    for (std::size_t v = 1; v < g.size(); ++v)
      if (logits[v] + g[v] > logits[best] + g[best]) best = v;
    tokens.push_back(static_cast<TokenId>(best));
    claim.output.push_back(tokens.back());
  }
  return claim;
}

constexpr const char* kProfile = "vllm-cpu-splitmix64";

inline CaseFile new_case(const std::filesystem::path& path, int claims) {
  auto file = CaseFile::open(path, OpenMode::create_or_open);
  const auto source = file.add_source({.path = "log.json", .sha256 = "00", .size = 1, .format = "test"});
  ProviderConfig config;
  config.name = "provider";
  config.sampler = kProfile;
  const auto provider = file.add_provider(source, ProviderRole::subject, config);
  std::vector<Claim> list;
  for (int i = 0; i < claims; ++i) {
    list.push_back(honest_claim(i, *find_profile(kProfile)));
    list.back().provider_id = provider;
  }
  file.add_claims(list);
  return file;
}

}  // namespace remote_test
