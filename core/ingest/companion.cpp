#include "core/ingest/companion.h"

#include <array>

#include "core/ingest/fields.h"
#include "core/ingest/record_parser.h"
#include "core/ingest/record_splitter.h"
#include "core/util/error.h"

namespace difr {
namespace {

constexpr std::string_view request_suffix = ".request.json";
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> renamings = {
    {{"output", "input"}, {"response", "request"}, {"answers", "requests"}}};

std::optional<std::filesystem::path> renamed(const std::filesystem::path& path, bool back) {
  const auto name = path.filename().string();
  for (auto [from, to] : renamings) {
    if (back) std::swap(from, to);
    const auto at = name.rfind(from);
    if (at == std::string::npos) continue;
    auto other = path.parent_path() / (name.substr(0, at) + std::string(to) + name.substr(at + from.size()));
    std::error_code ignored;
    if (std::filesystem::is_regular_file(other, ignored)) return other;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::filesystem::path> find_companion(const std::filesystem::path& log) {
  std::error_code ignored;
  auto beside = log;
  beside.replace_extension(std::string(request_suffix));
  if (!log.filename().string().ends_with(request_suffix) && std::filesystem::is_regular_file(beside, ignored))
    return beside;
  return renamed(log, false);
}

bool is_companion(const std::filesystem::path& path) {
  return path.filename().string().ends_with(request_suffix) || renamed(path, true).has_value();
}

Companion::Companion(const std::filesystem::path& path) {
  constexpr std::size_t most_bytes = std::size_t{256} << 20;
  ByteSource source(path, path.string());
  RecordSplitter splitter(source, std::size_t{64} << 20);
  RecordSplitter::Item item;
  RecordParser parser;
  std::size_t bytes = 0;
  while (splitter.next(item)) {
    ReadRecord out;
    JsonObject record;
    const auto root = item.kind == RecordSplitter::Kind::record ? parser.parse(item.text, true, out) : std::nullopt;
    if (!root || root->get(record) != simdjson::SUCCESS) continue;
    const auto id = text_member(record, "custom_id");
    auto request = object_member(record, "body");
    if (!request) request = object_member(record, "request");
    auto text = simdjson::minify(request.value_or(record));
    bytes += text.size();
    if (bytes > most_bytes)
      throw bad_input(path.string(), "holds more than 256 MiB of requests",
                      "split the log and its requests into parts");
    (id.empty() ? any_ : by_id_[id]) = std::move(text);
  }
}

std::optional<simdjson::dom::object> Companion::find(std::string_view id) {
  const auto found = by_id_.find(id);
  const auto& text = found != by_id_.end() ? found->second : any_;
  simdjson::dom::object object;
  if (text.empty() || parser_.parse(text).get(object) != simdjson::SUCCESS) return std::nullopt;
  return object;
}

}  // namespace difr
