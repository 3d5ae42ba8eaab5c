#include "core/util/error.h"
#include "gpu/reference_engine.h"

namespace difr::gpu {

const char* to_string(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp32:
      return "fp32";
    case Dtype::bf16:
      return "bf16";
    case Dtype::fp16:
      break;
  }
  return "fp16";
}

Dtype parse_dtype(std::string_view name) {
  for (const auto dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16})
    if (name == to_string(dtype)) return dtype;
  throw Error(ExitCode::usage, "--dtype", "unknown dtype '" + std::string(name) + "'", "use fp32, bf16 or fp16");
}

}  // namespace difr::gpu
