#pragma once
// The capture ledger: an append-only file of JSON records, one a line, each carrying the hash of the one before
// (format: docs/ledger.md). A line is {"n":N,"prev":"hex","hash":"hex","body":{...}}; the hash covers N, prev and the
// body's bytes as they stand. The whole line without its newline is the entry of the ledger's Merkle tree.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/ledger/merkle.h"

namespace difr {

inline constexpr std::size_t kLedgerLineLimit = std::size_t{64} << 20;

struct LedgerRecord {
  std::uint64_t index = 0;   ///< 0: the header, whose body is {"ledger": name, "format": "difr-ledger-1"}
  std::uint64_t offset = 0;  ///< of the line in the file
  Digest hash{};
  std::string_view line;  ///< without newline; valid during the visit
  std::string_view body;  ///< JSON; valid during the visit
};

/// Where a ledger stops being one: a line that was changed, left out, moved or put in.
struct LedgerFault {
  std::uint64_t record = 0;
  std::uint64_t offset = 0;
  std::string message;
};

struct LedgerScan {
  std::uint64_t records = 0;      ///< sound ones, from the start
  std::uint64_t sound_bytes = 0;  ///< what they take
  std::uint64_t torn_bytes = 0;   ///< after them, an unfinished line: a writer was interrupted; no fault
  Digest head{};                  ///< hash of the last sound record
  MerkleTree tree;                ///< over the sound lines
  std::optional<LedgerFault> fault;
};

/// Reads and checks the ledger from the start, also while another process appends to it; `visit` returns false to stop.
/// Throws difr::Error (bad_input) when the file cannot be read.
[[nodiscard]] LedgerScan scan_ledger(const std::filesystem::path& path,
                                     const std::function<bool(const LedgerRecord&)>& visit = {});

/// The only writer of a ledger (the file is locked while it lives). Not thread-safe.
class LedgerWriter {
 public:
  /// Creates the ledger, or continues it after cutting an unfinished last line. Throws difr::Error: bad_input when the
  /// file is no ledger, damaged, or named otherwise than `name` (an empty name takes any); environment when it cannot
  /// be written or another process writes it.
  static LedgerWriter open(const std::filesystem::path& path, std::string_view name);
  LedgerWriter(LedgerWriter&& other) noexcept;
  LedgerWriter& operator=(LedgerWriter&& other) noexcept;
  ~LedgerWriter();

  /// Appends one record and returns its index. `body` is one JSON object; newlines between its tokens become spaces.
  /// After a failed write the file is as before. Throws difr::Error (usage) for another body.
  std::uint64_t append(std::string_view body);
  /// Returns when everything appended is on the disk.
  void sync();

  [[nodiscard]] const MerkleTree& tree() const { return tree_; }
  [[nodiscard]] const Digest& head() const { return head_; }
  [[nodiscard]] std::uint64_t cut_bytes() const { return cut_bytes_; }  ///< of an unfinished line, when opened

 private:
  LedgerWriter(std::filesystem::path path, int file) : path_(std::move(path)), file_(file) {}
  void write_line(std::string_view line);

  std::filesystem::path path_;
  int file_ = -1;
  std::uint64_t end_ = 0;
  std::uint64_t cut_bytes_ = 0;
  Digest head_{};
  MerkleTree tree_;
};

}  // namespace difr
