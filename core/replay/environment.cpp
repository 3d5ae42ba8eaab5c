#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/replay/generation_log.h"

namespace difr {

std::vector<EnvironmentDifference> compare_environments(const GenerationEnvironment& claimed,
                                                        const GenerationEnvironment& own) {
  std::vector<EnvironmentDifference> out;
  const auto text = [&](const char* fact, const std::string& a, const std::string& b) {
    if (a != b) out.push_back({fact, a.empty() ? "not stated" : a, b.empty() ? "none" : b});
  };
  const auto number = [&](const char* fact, int a, int b) { text(fact, std::to_string(a), std::to_string(b)); };
  text("weights", claimed.engine.weights_digest, own.engine.weights_digest);
  text("dtype", claimed.engine.dtype, own.engine.dtype);
  text("variant", claimed.engine.variant, own.engine.variant);
  text("device", claimed.engine.device, own.engine.device);
  text("hardware", claimed.hardware, own.hardware);
  text("engine build", claimed.engine.engine_build, own.engine.engine_build);
  number("threads", claimed.engine.threads, own.engine.threads);
  number("batch tokens", claimed.engine.batch_tokens, own.engine.batch_tokens);
  number("sequences per group", claimed.group, own.group);
  number("max tokens", claimed.max_tokens, own.max_tokens);
  text("end tokens", fmt::format("{}", fmt::join(claimed.end_tokens, " ")),
       fmt::format("{}", fmt::join(own.end_tokens, " ")));
  return out;
}

}  // namespace difr
