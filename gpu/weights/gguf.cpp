#include "gpu/weights/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

#include "core/util/error.h"

namespace difr::gpu {

namespace {

struct Rename {
  std::string_view gguf;
  std::string_view hf;
};

constexpr std::array<Rename, 3> kGlobal{{
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
}};
constexpr std::array<Rename, 11> kPerLayer{{
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
    {"ffn_gate_inp", "mlp.gate"},
}};
constexpr std::array<Rename, 1> kPlainNorms{{{"ffn_norm", "post_attention_layernorm"}}};
constexpr std::array<Rename, 3> kSandwichNorms{{
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_norm", "pre_feedforward_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
}};
constexpr std::array<Rename, 3> kExperts{{
    {"ffn_gate_exps", "gate_proj"},
    {"ffn_up_exps", "up_proj"},
    {"ffn_down_exps", "down_proj"},
}};

std::string_view renamed(std::span<const Rename> table, std::string_view name) {
  const auto it = std::ranges::find(table, name, &Rename::gguf);
  return it == table.end() ? std::string_view() : it->hf;
}

/// "blk.12.attn_q.weight" in its parts; layer -1 for tensors outside the layers.
struct NameParts {
  int layer = -1;
  std::string_view stem;
  std::string_view suffix;
};

NameParts split_name(std::string_view name) {
  NameParts parts;
  if (name.starts_with("blk.")) {
    const auto rest = name.substr(4);
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), parts.layer);
    const auto digits = static_cast<std::size_t>(end - rest.data());
    if (error != std::errc() || parts.layer < 0 || digits >= rest.size() || rest[digits] != '.') return {};
    name = rest.substr(digits + 1);
  }
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos) return {};
  parts.stem = name.substr(0, dot);
  parts.suffix = name.substr(dot + 1);
  return parts;
}

}  // namespace

std::unique_ptr<GgufSource> GgufSource::open(const std::filesystem::path& path) {
  return std::unique_ptr<GgufSource>(new GgufSource(path));
}

GgufSource::GgufSource(const std::filesystem::path& path)
    : map_(path),
      file_(map_.bytes(), path.string()),
      config_(gguf_config(file_)),
      architecture_(gguf_architecture(file_)) {
  for (const auto& tensor : file_.tensors()) add(tensor);
  std::vector<std::size_t> order(infos_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [this](std::size_t i) -> const std::string& { return infos_[i].name; });
  std::vector<TensorInfo> infos;
  std::vector<Recipe> recipes;
  for (const auto i : order) {
    infos.push_back(std::move(infos_[i]));
    recipes.push_back(recipes_[i]);
  }
  infos_ = std::move(infos);
  recipes_ = std::move(recipes);
  const auto twice = std::ranges::adjacent_find(infos_, {}, &TensorInfo::name);
  if (twice != infos_.end())
    throw bad_input(file_.file() + ": tensor '" + twice->name + "'", "is there under two names",
                    "convert the model again");
}

void GgufSource::add(const GgufTensor& tensor) {
  const auto [layer, stem, suffix] = split_name(tensor.name);
  Recipe recipe{.format = tensor.format};
  const auto unknown = [&] {
    return bad_input(file_.file() + ": tensor '" + tensor.name + "'",
                     fmt::format("is not known for the architecture '{}'", architecture_.name),
                     "it would be left out silently: use a plain conversion of a supported architecture");
  };
  if (suffix != "weight" && suffix != "bias") throw unknown();
  if (layer < 0) {
    if (stem == "rope_freqs" && suffix == "weight") {
      config_.ropes.at(0).frequency_divisors.resize(tensor.bytes.size() / tensor.format->bytes * tensor.format->values);
      dequantise(*tensor.format, tensor.bytes, 0, config_.ropes[0].frequency_divisors);
      if (config_.ropes[0].frequency_divisors.size() != static_cast<std::size_t>(config_.head_dim / 2) ||
          !std::ranges::all_of(config_.ropes[0].frequency_divisors, [](float f) { return f > 0 && f < 1e9F; }))
        throw bad_input(file_.file() + ": tensor 'rope_freqs.weight'", "does not hold one positive factor a pair",
                        "convert the model again");
      return;
    }
    const auto hf = renamed(kGlobal, stem);
    if (hf.empty()) throw unknown();
    if (stem == "output_norm" && architecture_.norm_plus_one) recipe.shift = -1;
    add_part(fmt::format("{}.{}", hf, suffix), tensor, tensor.shape, tensor.bytes, recipe);
    return;
  }

  if (const auto part = renamed(kExperts, stem); !part.empty() && suffix == "weight") {
    if (tensor.shape.size() != 3 || tensor.shape[0] != config_.experts)
      throw bad_input(file_.file() + ": tensor '" + tensor.name + "'",
                      fmt::format("is not a stack of {} matrices", config_.experts), "convert the model again");
    const std::size_t size = tensor.bytes.size() / static_cast<std::size_t>(config_.experts);
    for (int e = 0; e < config_.experts; ++e)
      add_part(fmt::format("model.layers.{}.mlp.experts.{}.{}.weight", layer, e, part), tensor,
               {tensor.shape[1], tensor.shape[2]}, tensor.bytes.subspan(size * static_cast<std::size_t>(e), size),
               recipe);
    return;
  }
  auto hf = renamed(kPerLayer, stem);
  if (hf.empty()) hf = config_.sandwich_norms ? renamed(kSandwichNorms, stem) : renamed(kPlainNorms, stem);
  if (hf.empty()) throw unknown();
  if (stem.ends_with("norm") && architecture_.norm_plus_one) recipe.shift = -1;
  if (architecture_.permuted_rope && (stem == "attn_q" || stem == "attn_k")) {
    if (tensor.shape[0] % config_.head_dim != 0)
      throw bad_input(file_.file() + ": tensor '" + tensor.name + "'",
                      fmt::format("has {} rows, not a multiple of the head size {}", tensor.shape[0], config_.head_dim),
                      "convert the model again");
    recipe.head_rows = config_.head_dim;
  }
  add_part(fmt::format("model.layers.{}.{}.{}", layer, hf, suffix), tensor, tensor.shape, tensor.bytes, recipe);
}

void GgufSource::add_part(std::string name, const GgufTensor& tensor, std::vector<std::int64_t> shape,
                          std::span<const std::byte> bytes, const Recipe& recipe) {
  infos_.push_back({std::move(name), std::string(tensor.format->name), std::move(shape), bytes, file_.file()});
  recipes_.push_back(recipe);
}

void GgufSource::read(const TensorInfo& tensor, std::int64_t first, std::span<float> out) const {
  const auto index = static_cast<std::size_t>(&tensor - infos_.data());
  if (index >= infos_.size())
    throw bad_input(file_.file() + ": tensor '" + tensor.name + "'", "does not come from this file",
                    "this is a fault of the program: please report it");
  const Recipe& recipe = recipes_[index];
  const auto total = static_cast<std::uint64_t>(tensor.elements());
  if (first < 0 || static_cast<std::uint64_t>(first) > total || out.size() > total - static_cast<std::uint64_t>(first))
    throw bad_input(file_.file() + ": tensor '" + tensor.name + "'", "is shorter than the configuration says",
                    "the file is inconsistent: convert the model again");
  if (recipe.head_rows == 0) {
    dequantise(*recipe.format, tensor.bytes, static_cast<std::uint64_t>(first), out);
  } else {
    // Row h·D + k·D/2 + j of the checkpoint is row h·D + 2·j + k of the file (k: half of the head, j: pair). A bias is
    // a matrix of one column.
    const std::int64_t width = tensor.shape.size() > 1 ? tensor.shape[1] : 1;
    const std::int64_t half = recipe.head_rows / 2;
    for (std::size_t done = 0; done < out.size();) {
      const std::int64_t at = first + static_cast<std::int64_t>(done);
      const std::int64_t row = at / width;
      const std::int64_t column = at % width;
      const std::int64_t in_head = row % recipe.head_rows;
      const std::int64_t source = row - in_head + 2 * (in_head % half) + in_head / half;
      const std::size_t take = std::min(static_cast<std::size_t>(width - column), out.size() - done);
      dequantise(*recipe.format, tensor.bytes, static_cast<std::uint64_t>(source * width + column),
                 out.subspan(done, take));
      done += take;
    }
  }
  if (recipe.shift != 0)
    for (auto& value : out) value += recipe.shift;
}

}  // namespace difr::gpu
