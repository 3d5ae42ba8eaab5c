#include "core/casefile/shard.h"

#include <fmt/format.h>

#include <charconv>

#include "core/util/error.h"

namespace difr {

std::string Shard::text() const {
  return fmt::format("{}/{}", index, count);
}

Shard parse_shard(std::string_view text) {
  constexpr int most = 100'000;
  Shard shard{0, 0};
  const auto* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, shard.index);
  const bool slash = first.ec == std::errc() && first.ptr != end && *first.ptr == '/';
  const auto second = slash ? std::from_chars(first.ptr + 1, end, shard.count) : first;
  if (!slash || second.ec != std::errc() || second.ptr != end || shard.count < 1 || shard.count > most ||
      shard.index < 1 || shard.index > shard.count)
    throw Error(ExitCode::usage, "--shard", fmt::format("'{}' is not i/n with 1 <= i <= n <= {}", text, most),
                "e.g. --shard 2/16 for the second of sixteen parts");
  return shard;
}

}  // namespace difr
