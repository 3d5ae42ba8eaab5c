#include "core/report/bundle.h"

#include "core/report/document.h"
#include "core/report/json_out.h"
#include "core/report/manifest.h"
#include "core/report/signature.h"
#include "core/util/error.h"
#include "core/util/sha256.h"
#include "core/util/write_file.h"

namespace difr {
namespace {

std::filesystem::path with_suffix(const std::filesystem::path& base, const char* suffix) {
  std::filesystem::path out = base;
  out += suffix;
  return out;
}

}  // namespace

std::vector<std::filesystem::path> write_report(const ReportModel& model, const std::filesystem::path& base,
                                                const ReportFormats& formats,
                                                const std::filesystem::path& signing_key) {
  std::vector<std::filesystem::path> written;
  report::Json files = report::Json::array();
  const auto put = [&](const char* suffix, const std::string& bytes) {
    written.push_back(with_suffix(base, suffix));
    write_file(written.back(), bytes);
    files.push_back({{"name", report::clean_utf8(written.back().filename().string())},
                     {"sha256", sha256_hex(bytes)},
                     {"size", bytes.size()}});
  };
  // The key is read first: a wrong key must not leave an unsigned bundle behind.
  const std::string public_key = signing_key.empty() ? std::string() : report::ed25519_public_hex(signing_key);
  put(".json", report_json(model));
  if (formats.html) put(".html", render_html(model));
  if (formats.pdf) put(".pdf", render_pdf(model));
  if (formats.csv) put(".csv", report_csv(model));

  report::Json manifest = report::Json::parse(report::manifest_json(model));
  manifest["files"] = std::move(files);
  const std::string text = manifest.dump(1) + "\n";
  written.push_back(with_suffix(base, ".manifest.json"));
  write_file(written.back(), text);
  const auto signature_path = with_suffix(base, ".manifest.sig");
  if (signing_key.empty()) {
    std::error_code ignored;
    std::filesystem::remove(signature_path, ignored);  // one of an earlier report would not match
    return written;
  }
  const report::Json signature = {
      {"algorithm", "Ed25519"}, {"public_key", public_key}, {"signature", report::ed25519_sign(text, signing_key)}};
  written.push_back(signature_path);
  write_file(written.back(), signature.dump(1) + "\n");
  return written;
}

}  // namespace difr
