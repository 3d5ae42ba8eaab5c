#include <simdjson.h>

#include <algorithm>
#include <fstream>

#include "core/util/error.h"
#include "gpu/generate/generate.h"
#include "gpu/weights/gguf_file.h"
#include "gpu/weights/mapped_file.h"

namespace difr::gpu {

namespace {

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name") || line.starts_with("CPU implementer"))
      if (const auto colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return "unknown CPU";
}

std::vector<TokenId> listed(const std::filesystem::path& file) {
  std::vector<TokenId> out;
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.load(file.string()).get(root) != simdjson::SUCCESS) return out;
  simdjson::dom::element value;
  if (root["eos_token_id"].get(value) != simdjson::SUCCESS) return out;
  std::int64_t id = 0;
  if (value.get(id) == simdjson::SUCCESS) out.push_back(static_cast<TokenId>(id));
  simdjson::dom::array ids;
  if (value.get(ids) == simdjson::SUCCESS)
    for (const auto one : ids)
      if (one.get(id) == simdjson::SUCCESS) out.push_back(static_cast<TokenId>(id));
  return out;
}

}  // namespace

std::vector<TokenId> end_tokens(const std::filesystem::path& model) {
  std::vector<TokenId> out;
  if (std::filesystem::is_directory(model)) {
    out = listed(model / "generation_config.json");
    if (out.empty()) out = listed(model / "config.json");
  } else {
    const MappedFile map(model);
    const GgufFile file(map.bytes(), model.string());
    for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"})
      if (const auto id = file.integer(key, 0, 1 << 30)) out.push_back(static_cast<TokenId>(*id));
  }
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

GenerationEnvironment generation_environment(const ReferenceEngine& engine, const GenerateLimits& limits,
                                             std::vector<TokenId> end_tokens) {
  GenerationEnvironment e;
  e.engine = engine.environment();
  e.hardware = e.engine.device == "cpu" ? cpu_model() : e.engine.device;
  e.group = limits.group;
  e.max_tokens = limits.max_tokens;
  e.end_tokens = std::move(end_tokens);
  return e;
}

}  // namespace difr::gpu
