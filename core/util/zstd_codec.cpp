#include "core/util/zstd_codec.h"

#include <fmt/format.h>
#include <zstd.h>

#include <memory>

#include "core/util/error.h"

namespace difr {
namespace {

struct FreeCompressor {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

Error damaged(const char* why) {
  return bad_input("compressed blob", fmt::format("damaged: {}", why), "restore the case file from a copy");
}

}  // namespace

void zstd_compress(std::span<const std::uint8_t> bytes, Bytes& out, int level) {
  // A context costs more than a short blob; one per thread is enough.
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeCompressor> context{ZSTD_createCCtx()};
  if (!context) throw environment_error("zstd", "out of memory");
  ZSTD_CCtx_reset(context.get(), ZSTD_reset_session_and_parameters);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  const auto start = out.size();
  out.resize(start + ZSTD_compressBound(bytes.size()));
  const auto size = ZSTD_compress2(context.get(), out.data() + start, out.size() - start, bytes.data(), bytes.size());
  if (ZSTD_isError(size)) throw environment_error("zstd", ZSTD_getErrorName(size));
  out.resize(start + size);
}

Bytes zstd_decompress(std::span<const std::uint8_t> frame, std::size_t expected) {
  const auto declared = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (declared != expected) throw damaged("the content size is not the one recorded beside it");
  Bytes out(expected);
  const auto size = ZSTD_decompress(out.data(), out.size(), frame.data(), frame.size());
  if (ZSTD_isError(size)) throw damaged(ZSTD_getErrorName(size));
  if (size != expected) throw damaged("shorter than recorded");
  return out;
}

}  // namespace difr
