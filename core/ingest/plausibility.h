#pragma once
// What is remarkable about a claim, or about a whole log, without being a fault (DESIGN §5).

#include <map>
#include <string>
#include <vector>

#include "core/ingest/format_reader.h"

namespace difr {

class Plausibility {
 public:
  /// Remarks on one claim.
  void check(const Claim& claim, const ProviderConfig& provider, ReadRecord& out);
  /// Remarks on a declaration; called once for each provider of a log.
  static void check(const ProviderConfig& provider, ReadRecord& out);
  /// Remarks on all claims seen: whether stopped outputs end in one common id (the end-of-sequence token is in) or not.
  void summarise(ReadRecord& out) const;

 private:
  std::map<TokenId, std::int64_t> last_ids_;
  std::int64_t stopped_ = 0;
};

}  // namespace difr
