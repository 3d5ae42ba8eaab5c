#include "core/ingest/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/ingest/byte_source.h"
#include "core/ingest/companion.h"
#include "core/ingest/duplicates.h"
#include "core/ingest/fields.h"
#include "core/ingest/log_file.h"
#include "core/ingest/plausibility.h"
#include "core/ingest/record_parser.h"
#include "core/ingest/record_splitter.h"
#include "core/util/error.h"
#include "core/util/sha256.h"

namespace difr {
namespace {

using Kind = RecordSplitter::Kind;

class Import {
 public:
  Import(CaseFile& file, const LogFile& log, const ImportOptions& options, std::stop_token stop,
         const ImportProgress& progress)
      : file_(file),
        log_(log),
        options_(options),
        stop_(std::move(stop)),
        progress_(progress),
        source_(log.path(), log.name()),
        splitter_(source_, options.max_record_bytes),
        readers_(make_readers()) {
    declared_.name = log.stem();
    declared_.raw_json = "{}";
    join_requests();
    if (!options.retokenise.empty()) encoder_ = load_encoder(options.retokenise);
  }

  ImportResult run() {
    if (!splitter_.next(item_)) throw nothing_in_it();
    // Everything that makes the file as a whole unusable shows before anything is written.
    while (item_.kind == Kind::header) {
      read_header();
      if (!splitter_.next(item_)) throw nothing_in_it();
    }
    ReadRecord first;
    auto* reader = item_.kind == Kind::record ? read_item(first) : nullptr;
    begin_source(reader ? reader->name() : splitter_.by_lines() ? "jsonl" : "json");
    bool more = true;
    for (bool fresh = true; more && !stop_.stop_requested(); more = splitter_.next(item_), fresh = false) {
      report_progress();
      switch (item_.kind) {
        case Kind::broken:
          add_broken();
          break;
        case Kind::header:
          read_header();
          break;
        case Kind::event_end:
          finish_readers();
          break;
        case Kind::record: {
          ReadRecord record = fresh ? std::move(first) : ReadRecord();
          if (!fresh) read_item(record);
          const bool lost = record.entries.empty() && !record.findings.empty() && record.findings.back().rejected;
          if (lost) splitter_.look_inside(item_);
          take(record);
          break;
        }
      }
    }
    if (!more) finish_readers();
    if (!more) remark_whole();
    flush();
    if (!more) finish();
    return result_;
  }

 private:
  void join_requests() {
    const auto path = options_.requests.empty() ? find_companion(log_.given()) : std::optional(options_.requests);
    if (!path) return;
    companion_ = std::make_unique<Companion>(*path);
    issues_.push_back({0, -1, -1, false, "requests-joined",
                       fmt::format("{} requests were taken from {} (SHA-256 {})", companion_->size(), path->string(),
                                   sha256_file(*path)),
                       "nothing to do; keep that file with the log"});
  }

  ReadContext context() {
    ReadContext c{declared_, declared_seed_, options_.vocab, item_.index, encoder_.get(), splitter_.transcript(), {}};
    if (companion_) c.request_of = [this](std::string_view id) { return companion_->find(id); };
    return c;
  }

  Error nothing_in_it() const {
    return bad_input(log_.name(), source_.damage().value_or("holds no records"),
                     "check that the provider's export was finished");
  }

  void begin_source(const char* format) {
    if (const auto known = file_.find_source(log_.sha256())) {
      result_.source_id = known->id;
      return;
    }
    SourceRow row;
    row.path = log_.recorded_path();
    row.sha256 = log_.sha256();
    row.size = log_.size();
    row.format = format;
    result_.source_id = file_.add_source(row);
  }

  /// The document around the records; its `config` is what the provider declares.
  void read_header() {
    if (item_.list == "scores")
      throw bad_input(log_.name(), "is a DiFR results file: it holds scores, but no token ids",
                      "import the samples file that it was made from, and score it here");
    if (have_config_) return;
    if (take_config(item_.text)) return;
    // The configuration may stand behind the samples, but must be known before the first of them is read.
    ByteSource source(log_.path(), log_.name());
    RecordSplitter ahead(source, options_.max_record_bytes);
    RecordSplitter::Item item;
    bool first = true;
    while (!stop_.stop_requested() && ahead.next(item))
      if (item.kind == Kind::header && !std::exchange(first, false) && take_config(item.text)) return;
  }

  bool take_config(std::string_view header) {
    ReadRecord out;
    const auto root = parser_.parse(header, false, out);
    JsonObject object;
    if (!root || root->get(object) != simdjson::SUCCESS) return false;
    const auto config = object_member(object, "config");
    if (!config) return false;
    declared_ = read_config(*config, declared_.name, out);
    for (const auto key : {"seed", "sampling_seed"}) read_seed(*config, key, declared_seed_, out);
    for (const auto& finding : out.findings) {
      if (finding.rejected)
        throw bad_input(log_.name(), "its “config” cannot be used: " + finding.message, finding.remedy);
      issues_.push_back({0, -1, -1, false, finding.kind, "config: " + finding.message, finding.remedy});
    }
    return have_config_ = true;
  }

  /// The reader that took the record, if any did.
  FormatReader* read_item(ReadRecord& out) {
    const auto root = parser_.parse(item_.text, true, out);
    if (!root) return nullptr;
    JsonObject object;
    if (root->get(object) != simdjson::SUCCESS) {
      out.reject("wrong-type", "the record is not a JSON object", "write one object for each request");
      return nullptr;
    }
    // Records of one file are mostly of one kind: ask the last reader first.
    if (!last_reader_ || !last_reader_->recognises(object, splitter_.transcript())) {
      last_reader_ = nullptr;
      for (const auto& reader : readers_)
        if (reader->recognises(object, splitter_.transcript())) {
          last_reader_ = reader.get();
          break;
        }
    }
    if (!last_reader_) {
      out.reject("unknown-record", "the record is of no format that the workbench reads",
                 "see the list of formats in the manual; token ids of prompt and output are needed");
      return nullptr;
    }
    last_reader_->read(object, context(), out);
    return last_reader_;
  }

  void add_issue(bool rejected, std::string kind, std::string message, std::string remedy) {
    result_.rejected += rejected;
    issues_.push_back({0, item_.index, item_.offset, rejected, std::move(kind), std::move(message), std::move(remedy)});
  }

  void add_broken() {
    const std::string_view fault = item_.fault;
    add_issue(true, std::string(fault), item_.message,
              fault == "truncated"         ? "export the log again; the records before this place were kept"
              : fault == "record-too-long" ? "raise the limit on the length of a record if it is a real one"
                                           : "check how the log was written; the records around this place were kept");
    flush_when_full();
  }

  void take(ReadRecord& record) {
    for (auto& finding : record.findings)
      add_issue(finding.rejected, std::move(finding.kind), std::move(finding.message), std::move(finding.remedy));
    for (auto& entry : record.entries) take(entry);
    flush_when_full();
  }

  void take(ReadRecord::Entry& entry) {
    auto& claim = entry.claim;
    claim.record = entry.record.value_or(item_.index);
    if (claim.external_id.empty()) claim.external_id = fmt::format("#{}", claim.record);
    const auto seen = duplicates_.add(claim);
    if (seen == DuplicateFilter::Seen::same_claim) {
      add_issue(true, "duplicate-record",
                fmt::format("{} was there before, with the same ids and seed", in_quotes(claim.external_id)),
                "a repeated record would count the same evidence twice");
      return;
    }
    if (seen == DuplicateFilter::Seen::same_id)
      add_issue(false, "duplicate-id",
                fmt::format("the id {} was used before for another output", in_quotes(claim.external_id)),
                "give each request an id of its own");
    if (!claim.seed && !claim.sampling.greedy())
      add_issue(false, "missing-seed", "no seed: the sampling cannot be checked, only the model",
                "send and log a seed with each request");
    ReadRecord remarks;
    plausibility_.check(claim, entry.own_provider ? entry.provider : declared_, remarks);
    for (auto& r : remarks.findings)
      add_issue(r.rejected, std::move(r.kind), std::move(r.message), std::move(r.remedy));
    claim.provider_id = provider_id(entry.own_provider ? entry.provider : declared_);
    retokenised_ += claim.ids_origin == IdsOrigin::retokenised;
    if (claim.ids_origin == IdsOrigin::retokenised && !within_vocabulary(claim)) {
      add_issue(true, "ids-out-of-range",
                fmt::format("the tokenizer gives ids above the vocabulary's {}", options_.vocab - 1),
                "name the tokenizer of the very model that is the reference");
      return;
    }
    tokens_ += claim.prompt.size() + claim.output.size();
    claims_.push_back(std::move(claim));
    ++result_.accepted;
  }

  bool within_vocabulary(const Claim& claim) const {
    const auto inside = [this](TokenId id) { return options_.vocab == 0 || id < options_.vocab; };
    return std::all_of(claim.prompt.begin(), claim.prompt.end(), inside) &&
           std::all_of(claim.output.begin(), claim.output.end(), inside);
  }

  std::int64_t provider_id(const ProviderConfig& config) {
    const auto key = std::pair(config.name + '\n' + config.model, config.raw_json);
    const auto [found, is_new] = providers_.try_emplace(key, 0);
    if (is_new) {
      found->second = file_.add_provider(result_.source_id, options_.role, config);
      result_.provider_ids.push_back(found->second);
      ReadRecord remarks;
      Plausibility::check(config, remarks);
      for (auto& r : remarks.findings)
        add_issue(r.rejected, std::move(r.kind), std::move(r.message), std::move(r.remedy));
    }
    return found->second;
  }

  void finish_readers() {
    for (const auto& reader : readers_) {
      ReadRecord record;
      reader->finish(context(), record);
      take(record);
    }
  }

  void remark_whole() {
    if (retokenised_ > 0)
      issues_.push_back({0, -1, -1, false, "retokenised",
                         fmt::format("the token ids of {} outputs were made from their text with {}", retokenised_,
                                     options_.retokenise.string()),
                         "the engine may have sampled another spelling of the same text: no verdict above undetermined "
                         "rests on such ids; log the engine's own"});
    ReadRecord whole;
    plausibility_.summarise(whole);
    for (auto& r : whole.findings)
      issues_.push_back({0, -1, -1, false, std::move(r.kind), std::move(r.message), std::move(r.remedy)});
  }

  void flush_when_full() {
    constexpr std::size_t most_tokens = 1u << 20, most_issues = 1024;
    if (claims_.size() >= options_.batch || tokens_ >= most_tokens || issues_.size() >= most_issues) flush();
  }

  void flush() {
    for (auto& issue : issues_) issue.source_id = result_.source_id;
    file_.add_issues(issues_);
    if (!claims_.empty()) file_.add_claims(claims_);
    issues_.clear();
    claims_.clear();
    tokens_ = 0;
  }

  void finish() {
    log_.require_unchanged();
    file_.finish_source(result_.source_id, result_.accepted, result_.rejected);
    if (progress_) progress_(log_.size(), log_.size());
  }

  void report_progress() {
    constexpr std::int64_t step = 1 << 20;
    if (!progress_ || source_.raw_done() < next_progress_) return;
    next_progress_ = source_.raw_done() + step;
    progress_(source_.raw_done(), log_.size());
  }

  CaseFile& file_;
  const LogFile& log_;
  const ImportOptions& options_;
  std::stop_token stop_;
  const ImportProgress& progress_;
  ByteSource source_;
  RecordSplitter splitter_;
  RecordSplitter::Item item_;
  RecordParser parser_;
  std::vector<std::unique_ptr<FormatReader>> readers_;
  FormatReader* last_reader_ = nullptr;
  DuplicateFilter duplicates_;
  Plausibility plausibility_;
  std::unique_ptr<Companion> companion_;
  std::unique_ptr<const TextEncoder> encoder_;
  std::int64_t retokenised_ = 0;
  ProviderConfig declared_;
  std::optional<std::int64_t> declared_seed_;
  bool have_config_ = false;
  std::map<std::pair<std::string, std::string>, std::int64_t> providers_;
  std::vector<Claim> claims_;
  std::vector<SourceIssue> issues_;
  std::size_t tokens_ = 0;
  std::int64_t next_progress_ = 0;
  ImportResult result_;
};

}  // namespace

ImportResult import_log(CaseFile& file, const std::filesystem::path& log, const ImportOptions& options,
                        std::stop_token stop, const ImportProgress& progress) {
  const LogFile opened(log, file.path().parent_path(), stop);
  if (stop.stop_requested()) return {};
  if (const auto known = file.find_source(opened.sha256()); known && known->complete) {
    ImportResult result;
    result.source_id = known->id;
    result.accepted = known->accepted;
    result.rejected = known->rejected;
    result.already_known = true;
    for (const auto& provider : file.providers())
      if (provider.source_id == known->id) result.provider_ids.push_back(provider.id);
    return result;
  }
  return Import(file, opened, options, stop, progress).run();
}

std::vector<FolderEntry> import_folder(CaseFile& file, const std::filesystem::path& folder,
                                       const ImportOptions& options, std::stop_token stop,
                                       const ImportProgress& progress) {
  std::vector<FolderEntry> entries;
  for (const auto& item : std::filesystem::recursive_directory_iterator(folder))
    if (item.is_regular_file() && !item.path().filename().string().starts_with('.') && !is_companion(item.path()))
      entries.push_back({item.path(), {}, {}});
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  for (auto& entry : entries) {
    if (stop.stop_requested()) break;
    try {
      entry.result = import_log(file, entry.path, options, stop, progress);
    } catch (const Error& error) {
      if (error.code() == ExitCode::environment) throw;
      entry.error = error.what();
    }
  }
  return entries;
}

}  // namespace difr
