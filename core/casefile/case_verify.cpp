// Finding every edit, deletion, reordering and decay in a case file.

#include <fmt/format.h>
#include <simdjson.h>

#include <map>

#include "core/casefile/blob_codec.h"
#include "core/casefile/case_impl.h"
#include "core/casefile/schema.h"
#include "core/util/error.h"

namespace difr {
namespace {

class Verifier {
 public:
  explicit Verifier(sql::Database& db) : db_(db) {}

  std::vector<std::string> run() {
    // One snapshot for all parts: a worker may be writing meanwhile.
    db_.exec("BEGIN");
    // A damaged page can end any of these early; the others still have something to say.
    for (const auto part : {&Verifier::structure, &Verifier::trail, &Verifier::sources, &Verifier::requests,
                            &Verifier::evidence, &Verifier::scores, &Verifier::calibrations, &Verifier::seals}) {
      try {
        (this->*part)();
      } catch (const Error& error) {
        fault("{}", error.what());
      }
    }
    if (db_.in_transaction()) db_.exec("COMMIT");
    return std::move(faults_);
  }

 private:
  template <class... Args>
  void fault(fmt::format_string<Args...> text, Args&&... args) {
    faults_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  void structure() {
    sql::Query integrity(db_, "PRAGMA integrity_check");
    while (integrity.step())
      if (const auto text = integrity.text(0); text != "ok") fault("database: {}", text);
    sql::Query keys(db_, "PRAGMA foreign_key_check");
    while (keys.step())
      fault("{} row {}: refers to a row of {} that is not there", keys.text(0), keys.integer(1), keys.text(2));
  }

  void trail() {
    std::string previous;
    std::int64_t expected = 1;
    sql::Query rows(db_, "SELECT id, at, actor, action, detail, previous_hash, hash FROM trail ORDER BY id");
    while (rows.step()) {
      const AuditTrailRow row{rows.integer(0), rows.text(1), rows.text(2), rows.text(3),
                              rows.text(4),    rows.text(5), rows.text(6)};
      if (row.id != expected)
        fault("trail row {}: rows {} to {} are missing before it", row.id, expected, row.id - 1);
      else if (row.previous_hash != previous)
        fault("trail row {}: does not continue row {}: a row was changed, moved or put in", row.id, row.id - 1);
      if (trail_hash(row) != row.hash)
        fault("trail row {}: its text is not the one that was hashed: it was edited", row.id);
      remember(row);
      previous = row.hash;
      expected = row.id + 1;
    }
    sql::Query head(db_, "SELECT rows, hash FROM trail_head");
    if (!head.step())
      fault("trail_head: is missing");
    else if (head.integer(0) != expected - 1 || head.text(1) != previous)
      fault("trail: ends at row {}, but its head says {} rows: rows at the end were removed or added", expected - 1,
            head.integer(0));
  }

  /// The newest seal of each finished import, run and decision.
  void remember(const AuditTrailRow& row) {
    simdjson::dom::parser parser;
    simdjson::dom::element detail;
    const auto id_of = [&detail](const char* key) {
      std::int64_t id = 0;
      return detail[key].get(id) == simdjson::SUCCESS ? id : 0;
    };
    const auto text_of = [&detail](const char* key) {
      std::string_view text;
      return detail[key].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
    };
    if (parser.parse(row.detail).get(detail) != simdjson::SUCCESS || !detail.is_object()) return;
    if (row.action == "finish source")
      sources_[id_of("source")] = {row.id, text_of("claims_digest"), text_of("sha256")};
    if (row.action == "run state") runs_[id_of("run")] = {row.id, text_of("evidence_digest"), text_of("state")};
    if (row.action == "resume run") runs_.erase(id_of("run"));
    if (row.action == "decide") decisions_[id_of("decision")] = {row.id, text_of("digest"), {}};
    if (row.action == "store calibration") calibrations_[id_of("calibration")] = {row.id, text_of("digest"), {}};
  }

  void sources() {
    sql::Query rows(db_, "SELECT id, path, sha256, size, complete FROM sources ORDER BY id");
    while (rows.step()) {
      const std::filesystem::path path = rows.text(1);
      const bool complete = rows.integer(4) != 0;
      std::error_code ignored;
      // A source that was moved away is no fault of the case; one that changed is.
      if (complete && std::filesystem::is_regular_file(path, ignored)) {
        try {
          if (const auto now = sha256_file(path); now != rows.text(2))
            fault("sources row {}: {} was changed since it was imported (SHA-256 {} then, {} now)", rows.integer(0),
                  path.string(), rows.text(2), now);
        } catch (const Error& error) {
          fault("sources row {}: {}", rows.integer(0), error.what());
        }
      }
    }
    sql::Query counts(
        db_,
        "SELECT id, requests, output_tokens, (SELECT count(*) FROM requests r WHERE r.provider_id = p.id), "
        "(SELECT coalesce(sum(output_tokens), 0) FROM requests r WHERE r.provider_id = p.id) FROM providers p");
    while (counts.step())
      if (counts.integer(1) != counts.integer(3) || counts.integer(2) != counts.integer(4))
        fault("providers row {}: counts {} requests with {} tokens, but there are {} with {}", counts.integer(0),
              counts.integer(1), counts.integer(2), counts.integer(3), counts.integer(4));
  }

  void requests() {
    sql::Query orphans(db_, "SELECT id FROM requests WHERE id NOT IN (SELECT request_id FROM request_tokens)");
    while (orphans.step()) fault("requests row {}: its tokens are missing", orphans.integer(0));
    sql::Query rows(db_,
                    fmt::format("SELECT {} FROM requests r JOIN request_tokens t ON t.request_id = r.id ORDER BY r.id",
                                request_digest_columns));
    while (rows.step()) {
      const auto id = rows.integer(0);
      const auto external_id = rows.text(4), finish = rows.text(10), sampling = rows.text(11);
      const auto digest = request_digest({rows.integer(1), rows.integer(2), rows.integer(3), rows.integer(5),
                                          rows.integer(6), rows.maybe_integer(7), rows.integer(8), rows.integer(9),
                                          external_id, finish, sampling, rows.blob(13), rows.blob(14), rows.blob(15)});
      if (const auto stored = rows.blob(12); !std::equal(stored.begin(), stored.end(), digest.begin(), digest.end()))
        fault("requests row {}: is not what was imported: it was edited", id);
      try {
        if (static_cast<std::int64_t>(decode_ids(rows.blob(13)).size()) != rows.integer(5) ||
            static_cast<std::int64_t>(decode_ids(rows.blob(14)).size()) != rows.integer(6))
          fault("requests row {}: its counts are not those of its token ids", id);
        if (const auto stated = decode_logprobs(rows.blob(15)).size();
            stated != 0 && static_cast<std::int64_t>(stated) != rows.integer(6))
          fault("requests row {}: states {} log-probabilities for {} tokens", id, stated, rows.integer(6));
      } catch (const Error& error) {
        fault("request_tokens row {}: {}", id, error.what());
      }
    }
  }

  template <class Decode>
  void blobs(const char* table, const char* sql, Decode decode) {
    sql::Query rows(db_, sql);
    while (rows.step()) {
      const auto data = rows.blob(6);
      const auto digest = blob_digest(table, rows.integer(1), rows.integer(2), rows.text(3), data);
      if (const auto stored = rows.blob(5); !std::equal(stored.begin(), stored.end(), digest.begin(), digest.end()))
        fault("{} row {}: is not what was stored: it was edited or has decayed", table, rows.integer(0));
      try {
        decode(rows);
      } catch (const Error& error) {
        fault("{} row {}: {}", table, rows.integer(0), error.what());
      }
    }
  }

  void evidence() {
    blobs("evidence",
          "SELECT e.id, e.run_id, e.request_id, '', e.tokens, e.digest, e.data, r.output_tokens FROM evidence e "
          "JOIN requests r ON r.id = e.request_id ORDER BY e.id",
          [this](const sql::Query& row) {
            const auto n = static_cast<std::int64_t>(decode_evidence(row.blob(6)).size());
            if (n != row.integer(4) || n != row.integer(7))
              fault("evidence row {}: has {} tokens for a request of {}", row.integer(0), n, row.integer(7));
          });
  }

  void scores() {
    blobs("scores",
          "SELECT s.id, s.run_id, s.request_id, s.profile, s.tokens, s.digest, s.data, r.output_tokens, s.exact_match, "
          "s.mean_margin, s.max_margin, s.cross_entropy FROM scores s JOIN requests r ON r.id = s.request_id ORDER BY "
          "s.id",
          [this](const sql::Query& row) {
            const auto decoded = decode_scores(row.blob(6));
            const auto n = static_cast<std::int64_t>(decoded.size());
            if (n != row.integer(4) || n != row.integer(7))
              fault("scores row {}: has {} tokens for a request of {}", row.integer(0), n, row.integer(7));
            const auto s = summarise(decoded);
            const double fresh[] = {s.exact_match, s.mean_margin, s.max_margin, s.cross_entropy};
            for (int i = 0; i < 4; ++i) {
              const double stored = row.real(8 + i);
              if (!(stored == fresh[i] || (stored != stored && fresh[i] != fresh[i]))) {
                fault("scores row {}: its summary is not that of its tokens", row.integer(0));
                break;
              }
            }
          });
  }

  void calibrations() {
    sql::Query rows(db_, "SELECT id, coalesce(run_id, 0), name, digest, data FROM calibrations ORDER BY id");
    while (rows.step()) {
      const auto digest = blob_digest("calibration", rows.integer(1), 0, rows.text(2), rows.blob(4));
      const auto sealed = calibrations_.find(rows.integer(0));
      if (to_hex(digest) != to_hex(rows.blob(3)) ||
          (sealed != calibrations_.end() && sealed->second.digest != to_hex(digest)))
        fault("calibrations row {}: is not what was stored: it was edited or has decayed", rows.integer(0));
      try {
        Calibration c;
        decode_calibration(rows.blob(4), c);
      } catch (const Error& error) {
        fault("calibrations row {}: {}", rows.integer(0), error.what());
      }
    }
  }

  void seals() {
    for (const auto& [id, seal] : sources_) {
      if (claims_digest(db_, id) != seal.digest)
        fault("sources row {}: its requests or declarations are not those that trail row {} sealed", id, seal.row);
      sql::Query q(db_, "SELECT sha256 FROM sources WHERE id = ?");
      q.bind(id);
      if (!q.step())
        fault("sources row {}: is missing, but trail row {} speaks of it", id, seal.row);
      else if (q.text(0) != seal.text)
        fault("sources row {}: its SHA-256 is not the one that trail row {} sealed", id, seal.row);
    }
    for (const auto& [id, seal] : runs_)
      if (evidence_digest(db_, id) != seal.digest)
        fault("runs row {}: its evidence is not what trail row {} sealed", id, seal.row);
    for (const auto& [id, seal] : decisions_)
      if (decision_digest(db_, id) != seal.digest)
        fault("provider_decisions row {}: is not what trail row {} sealed", id, seal.row);
    sql::Query unsealed(db_, "SELECT id FROM provider_decisions ORDER BY id");
    while (unsealed.step())
      if (!decisions_.contains(unsealed.integer(0)))
        fault("provider_decisions row {}: the trail knows nothing of it", unsealed.integer(0));
  }

  struct Seal {
    std::int64_t row = 0;
    std::string digest;
    std::string text;
  };
  sql::Database& db_;
  std::vector<std::string> faults_;
  std::map<std::int64_t, Seal> sources_, runs_, decisions_, calibrations_;
};

}  // namespace

std::vector<std::string> CaseFile::verify() const {
  return Verifier(impl_->db).run();
}

}  // namespace difr
