#pragma once
// One small reader per log format, chosen by what a record contains.

#include <simdjson.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/domain/claim.h"
#include "core/tokenizer/encoder.h"

namespace difr {

/// What is wrong with, or remarkable about, a record.
struct RecordFinding {
  bool rejected = true;
  std::string kind, message, remedy;
};

/// What one record came to. A rejected finding without claims means that the record is lost; one bad choice of several
/// is rejected alone.
struct ReadRecord {
  struct Entry {
    Claim claim;              ///< provider_id and record are filled in by the import
    ProviderConfig provider;  ///< only when `own_provider`
    bool own_provider = false;
    std::optional<std::int64_t> record;  ///< when it began in an earlier record than the one being read
  };
  std::vector<Entry> entries;
  std::vector<RecordFinding> findings;

  void reject(std::string kind, std::string message, std::string remedy = {}) {
    findings.push_back({true, std::move(kind), std::move(message), std::move(remedy)});
  }
  void remark(std::string kind, std::string message, std::string remedy = {}) {
    findings.push_back({false, std::move(kind), std::move(message), std::move(remedy)});
  }
};

struct ReadContext {
  const ProviderConfig& declared;             ///< the file's own `config`, or what stands in for it
  std::optional<std::int64_t> declared_seed;  ///< one seed for all requests, when the config states it
  int vocab = 0;                              ///< 0: unknown
  std::int64_t record = 0;                    ///< index of the record being read
  const TextEncoder* encoder = nullptr;       ///< set when text may stand in for missing ids
  bool transcript = false;                    ///< records are the events of a stream
  /// The request of the answer with this id, from a second file; nothing when there is none. Valid until the next call.
  std::function<std::optional<simdjson::dom::object>(std::string_view)> request_of;
};

class FormatReader {
 public:
  virtual ~FormatReader() = default;
  /// Stable slug, stored as the source's format.
  [[nodiscard]] virtual const char* name() const = 0;
  [[nodiscard]] virtual bool recognises(const simdjson::dom::object& record, bool transcript) const = 0;
  virtual void read(const simdjson::dom::object& record, const ReadContext& context, ReadRecord& out) = 0;
  /// Readers that gather several records (streams) give what they have at a stream's end.
  virtual void finish(const ReadContext& context, ReadRecord& out) {
    (void)context;
    (void)out;
  }
};

/// In order of precedence: the first that recognises a record reads it.
[[nodiscard]] std::vector<std::unique_ptr<FormatReader>> make_readers();

}  // namespace difr
