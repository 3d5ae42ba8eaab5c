#include "core/ledger/capture_ledger.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <simdjson.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/ledger/ledger_line.h"
#include "core/util/error.h"

namespace difr {

namespace {

Error io_error(const std::filesystem::path& path, const char* what) {
  return environment_error(path.string(), fmt::format("{}: {}", what, std::strerror(errno)),
                           "check free space and permissions");
}

std::string one_line_json(std::string_view body) {
  std::string line(body);
  // In valid JSON a raw newline stands between tokens only.
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(simdjson::padded_string(line)).get(object) != simdjson::SUCCESS)
    throw Error(ExitCode::usage, "ledger", "a record's body must be one JSON object");
  if (line.size() > kLedgerLineLimit / 2)
    throw Error(ExitCode::usage, "ledger", fmt::format("a record of {} bytes is too large", line.size()));
  return line;
}

std::string header_body(std::string_view name) {
  return nlohmann::ordered_json{{"ledger", name}, {"format", "difr-ledger-1"}}.dump();
}

/// The ledger's name; empty optional when the body is no header of this format.
std::optional<std::string> name_in(std::string_view body) {
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  std::string_view name, format;
  if (parser.parse(simdjson::padded_string(body)).get(document) != simdjson::SUCCESS ||
      document["ledger"].get(name) != simdjson::SUCCESS || document["format"].get(format) != simdjson::SUCCESS ||
      format != "difr-ledger-1")
    return std::nullopt;
  return std::string(name);
}

}  // namespace

LedgerScan scan_ledger(const std::filesystem::path& path, const std::function<bool(const LedgerRecord&)>& visit) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw bad_input(path.string(), "cannot be read", "check the path and its permissions");
  LedgerScan scan;
  std::string pending;  // starts at sound_bytes
  std::string buffer(std::size_t{1} << 20, '\0');
  const auto fault = [&scan](std::string message) {
    scan.fault = LedgerFault{scan.records, scan.sound_bytes, std::move(message)};
  };
  while (!scan.fault) {
    stream.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    const auto count = static_cast<std::size_t>(stream.gcount());
    if (count == 0) break;
    pending.append(buffer, 0, count);
    std::size_t begin = 0;
    for (std::size_t end = 0; !scan.fault && (end = pending.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const std::string_view line = std::string_view(pending).substr(begin, end - begin);
      const auto parsed = parse_ledger_line(line, scan.records, scan.head);
      if (!parsed) {
        fault(parsed.error());
        break;
      }
      if (scan.records == 0 && !name_in(parsed->body)) {
        fault("is not the header of a difr-ledger-1 file");
        break;
      }
      scan.head = parsed->hash;
      scan.tree.append(line);
      const LedgerRecord record{scan.records, scan.sound_bytes, parsed->hash, line, parsed->body};
      ++scan.records;
      scan.sound_bytes += line.size() + 1;
      if (visit && !visit(record)) return scan;
    }
    pending.erase(0, begin);
    if (!scan.fault && pending.size() > kLedgerLineLimit) fault("is longer than any ledger line");
  }
  if (!scan.fault) {
    scan.torn_bytes = pending.size();
    // An unfinished first line of something else is no interrupted ledger.
    if (scan.records == 0 && !starts_a_ledger(pending)) fault("is not a ledger");
  }
  return scan;
}

LedgerWriter LedgerWriter::open(const std::filesystem::path& path, std::string_view name) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) throw io_error(path, "cannot be opened for writing");
  LedgerWriter writer(path, file);
  if (::flock(file, LOCK_EX | LOCK_NB) != 0)
    throw environment_error(path.string(), "another process is writing this ledger", "stop it or choose another file");

  std::optional<std::string> known;
  LedgerScan scan = scan_ledger(path, [&known](const LedgerRecord& record) {
    if (record.index == 0) known = name_in(record.body);
    return true;
  });
  if (scan.fault)
    throw bad_input(path.string(),
                    fmt::format("record {} at byte {} {}", scan.fault->record, scan.fault->offset, scan.fault->message),
                    "it is left as it is; continue in a new file");
  if (known && !name.empty() && *known != name)
    throw bad_input(path.string(), fmt::format("is the ledger \"{}\", not \"{}\"", *known, name),
                    "choose another file");
  if (scan.torn_bytes != 0 && ::ftruncate(file, static_cast<off_t>(scan.sound_bytes)) != 0)
    throw io_error(path, "its unfinished last line cannot be cut");
  writer.end_ = scan.sound_bytes;
  writer.cut_bytes_ = scan.torn_bytes;
  writer.head_ = scan.head;
  writer.tree_ = std::move(scan.tree);
  if (scan.records == 0) {
    writer.append(header_body(name));
    writer.sync();
  }
  return writer;
}

LedgerWriter::LedgerWriter(LedgerWriter&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      end_(other.end_),
      cut_bytes_(other.cut_bytes_),
      head_(other.head_),
      tree_(std::move(other.tree_)) {}

LedgerWriter& LedgerWriter::operator=(LedgerWriter&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  std::swap(end_, other.end_);
  std::swap(cut_bytes_, other.cut_bytes_);
  std::swap(head_, other.head_);
  std::swap(tree_, other.tree_);
  return *this;
}

LedgerWriter::~LedgerWriter() {
  if (file_ >= 0) ::close(file_);
}

std::uint64_t LedgerWriter::append(std::string_view body) {
  const std::string json = one_line_json(body);
  const std::uint64_t index = tree_.size();
  const Digest hash = ledger_hash(index, head_, json);
  const std::string line = ledger_line(index, head_, hash, json);
  write_line(line);
  head_ = hash;
  tree_.append(line);
  return index;
}

void LedgerWriter::write_line(std::string_view line) {
  const std::string bytes = std::string(line) + '\n';
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = ::write(file_, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const Error error = io_error(path_, "cannot be written");
      // What cannot be taken back now is cut when the ledger is opened again.
      if (::ftruncate(file_, static_cast<off_t>(end_)) != 0) throw io_error(path_, "ends in an unfinished line");
      throw error;
    }
    done += static_cast<std::size_t>(written);
  }
  end_ += bytes.size();
}

void LedgerWriter::sync() {
  if (::fdatasync(file_) != 0) throw io_error(path_, "cannot be flushed to the disk");
}

}  // namespace difr
