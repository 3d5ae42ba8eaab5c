#pragma once
// Repeated records within one log, found in bounded memory.

#include <cstdint>
#include <vector>

#include "core/domain/claim.h"

namespace difr {

class DuplicateFilter {
 public:
  enum class Seen : std::uint8_t {
    never,
    same_id,    ///< the id was used before, for something else
    same_claim  ///< the very same claim was seen before
  };
  /// Remembers the claim. Beyond two million claims nothing new is remembered (64 MiB).
  Seen add(const Claim& claim);

 private:
  struct Slot {
    std::uint64_t id = 0;  ///< 0: free
    std::uint64_t content = 0;
  };
  void grow();
  std::vector<Slot> slots_ = std::vector<Slot>(1024);
  std::size_t used_ = 0;
};

}  // namespace difr
