#pragma once
// The stream of torch.randn on a CPU generator: mt19937 seeded with the seed's low 32 bits, Box-Muller in blocks of 16.
// fp32 and fp64 streams agree between torch versions (bf16 ones do not). Torch evaluates log and cos by vector
// approximations, so single values may differ from these by a few units in the last place.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace difr {

[[nodiscard]] std::vector<float> torch_randn_fp32(std::uint64_t seed, std::size_t count);
[[nodiscard]] std::vector<double> torch_randn_fp64(std::uint64_t seed, std::size_t count);

}  // namespace difr
