#pragma once
// The demo model's forward pass, written plainly in fp32 and for tests only: one token at a time with a cache. It lets
// tests of core use the real logs without LibTorch.

#include <cmath>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/domain/claim.h"
#include "core/support/fixture_files.h"

namespace difr::test {

class TinyLlama {
 public:
  static constexpr int kVocab = 2048, kHidden = 192, kMlp = 512, kLayers = 6, kHeads = 6, kKvHeads = 2, kHeadDim = 32;

  explicit TinyLlama(const std::string& model_dir) : file_(model_dir + "/model.safetensors") {
    for (const auto& [name, tensor] : file_.tensors()) weights_[name] = file_.floats(name);
  }

  /// Logits (n × V) that predict each output token.
  std::vector<float> logits(std::span<const TokenId> prompt, std::span<const TokenId> output) {
    keys_.assign(kLayers, {});
    values_.assign(kLayers, {});
    std::vector<float> out;
    const std::size_t total = prompt.size() + output.size() - 1;
    for (std::size_t i = 0; i < total; ++i) {
      const TokenId id = i < prompt.size() ? prompt[i] : output[i - prompt.size()];
      const auto hidden = step(id, static_cast<int>(i));
      if (i + 1 < prompt.size()) continue;
      const auto row = matmul("model.embed_tokens.weight", hidden, kVocab);
      out.insert(out.end(), row.begin(), row.end());
    }
    return out;
  }

 private:
  using Vector = std::vector<float>;
  typedef float Lanes __attribute__((vector_size(32)));

  static float dot(const float* a, const float* b, std::size_t n) {
    Lanes sum{};
    for (std::size_t i = 0; i < n; i += 8) {
      Lanes x, y;
      std::memcpy(&x, a + i, sizeof x);
      std::memcpy(&y, b + i, sizeof y);
      sum += x * y;
    }
    float total = 0;
    for (int i = 0; i < 8; ++i) total += sum[i];
    return total;
  }
  Vector matmul(const std::string& name, const Vector& x, int rows) {
    const auto& w = weights_.at(name);
    Vector y(static_cast<std::size_t>(rows));
    for (std::size_t r = 0; r < y.size(); ++r) y[r] = dot(w.data() + r * x.size(), x.data(), x.size());
    return y;
  }
  Vector norm(const std::string& name, const Vector& x) {
    const auto& w = weights_.at(name);
    const float scale = 1.0F / std::sqrt(dot(x.data(), x.data(), x.size()) / static_cast<float>(x.size()) + 1e-5F);
    Vector y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = w[i] * (x[i] * scale);
    return y;
  }
  static void rotate(float* head, int position) {
    for (int i = 0; i < kHeadDim / 2; ++i) {
      static const std::vector<double> frequency = [] {
        std::vector<double> f;
        for (int k = 0; k < kHeadDim / 2; ++k) f.push_back(std::pow(10000.0, -2.0 * k / kHeadDim));
        return f;
      }();
      const double angle = position * frequency[static_cast<std::size_t>(i)];
      const auto c = static_cast<float>(std::cos(angle)), s = static_cast<float>(std::sin(angle));
      const float a = head[i], b = head[i + kHeadDim / 2];
      head[i] = a * c - b * s;
      head[i + kHeadDim / 2] = b * c + a * s;
    }
  }
  Vector attend(std::size_t layer, const Vector& q) const {
    Vector out(kHidden);
    const auto& keys = keys_[layer];
    const std::size_t length = keys.size() / (kKvHeads * kHeadDim);
    for (std::size_t h = 0; h < kHeads; ++h) {
      const std::size_t kv = h / (kHeads / kKvHeads) * kHeadDim;
      Vector p(length);
      float top = -1e30F, sum = 0;
      for (std::size_t j = 0; j < length; ++j) {
        p[j] = dot(q.data() + h * kHeadDim, keys.data() + j * kKvHeads * kHeadDim + kv, kHeadDim) /
               std::sqrt(float{kHeadDim});
        top = std::max(top, p[j]);
      }
      for (float& v : p) sum += v = std::exp(v - top);
      for (std::size_t j = 0; j < length; ++j) {
        const float weight = p[j] / sum;
        const float* value = values_[layer].data() + j * kKvHeads * kHeadDim + kv;
        for (std::size_t d = 0; d < kHeadDim; ++d) out[h * kHeadDim + d] += weight * value[d];
      }
    }
    return out;
  }
  Vector step(TokenId id, int position) {
    const auto& table = weights_.at("model.embed_tokens.weight");
    Vector x(table.begin() + id * kHidden, table.begin() + (id + 1) * kHidden);
    for (std::size_t l = 0; l < kLayers; ++l) {
      const std::string p = "model.layers." + std::to_string(l) + ".";
      const auto h = norm(p + "input_layernorm.weight", x);
      auto q = matmul(p + "self_attn.q_proj.weight", h, kHidden);
      auto k = matmul(p + "self_attn.k_proj.weight", h, kKvHeads * kHeadDim);
      const auto v = matmul(p + "self_attn.v_proj.weight", h, kKvHeads * kHeadDim);
      for (int i = 0; i < kHeads; ++i) rotate(q.data() + i * kHeadDim, position);
      for (int i = 0; i < kKvHeads; ++i) rotate(k.data() + i * kHeadDim, position);
      keys_[l].insert(keys_[l].end(), k.begin(), k.end());
      values_[l].insert(values_[l].end(), v.begin(), v.end());
      add(x, matmul(p + "self_attn.o_proj.weight", attend(l, q), kHidden));
      const auto m = norm(p + "post_attention_layernorm.weight", x);
      auto gate = matmul(p + "mlp.gate_proj.weight", m, kMlp);
      const auto up = matmul(p + "mlp.up_proj.weight", m, kMlp);
      for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = gate[i] / (1.0F + std::exp(-gate[i])) * up[i];
      add(x, matmul(p + "mlp.down_proj.weight", gate, kHidden));
    }
    return norm("model.norm.weight", x);
  }
  static void add(Vector& x, const Vector& y) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }

  Safetensors file_;
  std::map<std::string, Vector> weights_;
  std::vector<Vector> keys_, values_;
};

/// Claims of one demo log, with the sampling its config declares.
inline std::vector<Claim> demo_claims(const std::string& path, std::size_t limit) {
  simdjson::dom::parser parser;
  const auto doc = parser.parse(read_file(path));
  const auto config = doc["config"];
  std::vector<Claim> claims;
  for (const auto sample : doc["samples"].get_array()) {
    if (claims.size() == limit) break;
    Claim c;
    for (const auto id : sample["prompt_token_ids"].get_array())
      c.prompt.push_back(static_cast<TokenId>(id.get_int64().value()));
    for (const auto id : sample["outputs"].at(0)["token_ids"].get_array())
      c.output.push_back(static_cast<TokenId>(id.get_int64().value()));
    c.seed = sample["seed"].get_int64().value();
    c.sampling.temperature = number(config["temperature"]);
    c.sampling.top_p = number(config["top_p"]);
    c.sampling.top_k = static_cast<int>(number(config["top_k"]));
    claims.push_back(std::move(c));
  }
  return claims;
}

}  // namespace difr::test
