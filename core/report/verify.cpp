// Re-checking a report bundle: hashes, signature, sources; with the case, every number.

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <system_error>

#include "core/report/bundle.h"
#include "core/report/document.h"
#include "core/report/json_out.h"
#include "core/report/signature.h"
#include "core/report/verify_case.h"
#include "core/util/error.h"
#include "core/util/sha256.h"

namespace difr {

namespace fs = std::filesystem;
using report::Json;

namespace {

std::optional<std::string> read_file(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

/// NAME of the bundle that `path` belongs to.
fs::path bundle_base(const fs::path& path) {
  const std::string name = path.filename().string();
  for (const std::string_view suffix : {".manifest.json", ".manifest.sig", ".json", ".html", ".pdf", ".csv"}) {
    if (name.ends_with(suffix)) return path.parent_path() / name.substr(0, name.size() - suffix.size());
  }
  return path;
}

/// Strings of a tree that somebody may have edited: absent or of another type reads as empty.
std::string text_at(const Json& tree, const char* key) {
  const auto found = tree.is_object() ? tree.find(key) : tree.end();
  return tree.is_object() && found != tree.end() && found->is_string() ? found->get<std::string>() : std::string();
}

class Checker {
 public:
  Checker(fs::path base, const VerifyOptions& options) : base_(std::move(base)), options_(options) {}

  ReportVerification run() {
    const fs::path manifest_path = sibling(".manifest.json");
    const auto text = read_file(manifest_path);
    if (!text)
      throw bad_input(manifest_path.string(), "cannot read the report's manifest",
                      "keep the files of a report together");
    manifest_ = Json::parse(*text, nullptr, false);
    if (!manifest_.is_object() || text_at(manifest_, "kind") != "difr-report-manifest") {
      throw bad_input(manifest_path.string(), "is not the manifest of a report",
                      "give the manifest that was written with the report");
    }
    signature(*text);
    files();
    sources();
    weights();
    const auto json = read_file(sibling(".json"));
    const Json tree = json ? Json::parse(*json, nullptr, false) : Json();
    if (!tree.is_object()) {
      add(CheckState::failed, sibling(".json").filename().string(),
          "the report's JSON is missing or broken, so its numbers cannot be compared");
    } else if (options_.file) {
      report::check_against_case(*options_.file, tree, manifest_, base_, options_, result_.checks);
    } else {
      add(CheckState::unchecked, "numbers", "no case file was given, so the numbers were not made again");
    }
    return std::move(result_);
  }

 private:
  fs::path sibling(const char* suffix) const {
    fs::path out = base_;
    out += suffix;
    return out;
  }
  void add(CheckState state, std::string where, std::string message) {
    result_.checks.push_back({state, std::move(where), std::move(message)});
  }

  void signature(const std::string& manifest_text) {
    const std::string where = sibling(".manifest.sig").filename().string();
    const auto text = read_file(sibling(".manifest.sig"));
    if (!text) {
      add(options_.public_key.empty() ? CheckState::unchecked : CheckState::failed, where, "the report is not signed");
      return;
    }
    const Json tree = Json::parse(*text, nullptr, false);
    const std::string embedded = text_at(tree, "public_key");
    const std::string key = options_.public_key.empty() ? embedded : report::ed25519_public_hex(options_.public_key);
    if (!report::ed25519_verify(manifest_text, text_at(tree, "signature"), key)) {
      add(CheckState::failed, where,
          "the signature does not fit the manifest and the key: the manifest was changed, or another key signed it");
    } else if (options_.public_key.empty()) {
      add(CheckState::unchecked, where,
          "the signature fits the key " + key + ", but nothing proves whose key that is; give the signer's public key");
    } else {
      add(CheckState::ok, where, "the signature is by the given key");
    }
  }

  void files() {
    const auto list = manifest_.find("files");
    if (list == manifest_.end() || !list->is_array() || list->empty())
      return add(CheckState::failed, "manifest", "lists no files");
    for (const Json& entry : *list) {
      const fs::path name = fs::path(text_at(entry, "name")).filename();  // never outside the bundle's folder
      const auto bytes = read_file(base_.parent_path() / name);
      if (!bytes) {
        add(CheckState::unchecked, name.string(), "is not here");
      } else if (sha256_hex(*bytes) != text_at(entry, "sha256")) {
        add(CheckState::failed, name.string(), "was changed after the manifest was made: its SHA-256 differs");
      } else {
        add(CheckState::ok, name.string(), "is as the manifest says");
      }
    }
    if (const auto json = read_file(sibling(".json"));
        json && sha256_hex(*json) != text_at(manifest_, "report_json_sha256")) {
      add(CheckState::failed, sibling(".json").filename().string(),
          "its SHA-256 differs from the manifest's report_json_sha256");
    }
  }

  std::optional<fs::path> find_source(const fs::path& recorded) const {
    std::error_code error;
    if (fs::is_regular_file(recorded, error)) return recorded;
    for (const fs::path& folder : options_.source_folders) {
      const fs::path candidate = folder / recorded.filename();
      if (fs::is_regular_file(candidate, error)) return candidate;
    }
    return std::nullopt;
  }

  void sources() {
    const auto list = manifest_.find("sources");
    if (list == manifest_.end() || !list->is_array()) return add(CheckState::failed, "manifest", "lists no sources");
    for (const Json& entry : *list) {
      const std::string recorded = text_at(entry, "path");
      const auto path = find_source(recorded);
      if (!path) {
        add(CheckState::unchecked, recorded, "the source is not at its recorded place nor in the folders given");
        continue;
      }
      try {
        const bool same = sha256_file(*path) == text_at(entry, "sha256");
        add(same ? CheckState::ok : CheckState::failed, path->string(),
            same ? "the source is unchanged" : "the source is not the file that was imported: its SHA-256 differs");
      } catch (const Error& error) {
        add(CheckState::unchecked, path->string(), error.what());
      }
    }
  }

  void weights() {
    const auto reference = manifest_.find("reference");
    const std::string recorded = reference == manifest_.end() ? std::string() : text_at(*reference, "weights_digest");
    if (options_.weights_digest.empty()) {
      add(CheckState::unchecked, "weights", "no model was given; the report names the digest " + recorded);
    } else if (options_.weights_digest == recorded) {
      add(CheckState::ok, "weights", "the model at hand has the digest that the report names");
    } else {
      add(CheckState::failed, "weights",
          "the model at hand has the digest " + options_.weights_digest + ", the report names " + recorded);
    }
  }

  fs::path base_;
  const VerifyOptions& options_;
  Json manifest_;
  ReportVerification result_;
};

}  // namespace

bool ReportVerification::ok() const {
  for (const ReportCheck& check : checks) {
    if (check.state == CheckState::failed) return false;
  }
  return true;
}

ReportVerification verify_report(const fs::path& path, const VerifyOptions& options) {
  return Checker(bundle_base(path), options).run();
}

}  // namespace difr
