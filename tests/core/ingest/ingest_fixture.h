#pragma once
// Logs and cases in a temporary folder.

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QTemporaryDir>
#include <filesystem>
#include <string>
#include <vector>

#include "core/ingest/import.h"

namespace difr::testing {

inline std::filesystem::path write_file(const std::filesystem::path& path, const std::string& bytes) {
  QFile out(QString::fromStdString(path.string()));
  if (!out.open(QIODevice::WriteOnly) ||
      out.write(bytes.data(), static_cast<qint64>(bytes.size())) != static_cast<qint64>(bytes.size()))
    qFatal("cannot write %s", path.c_str());
  return path;
}

inline std::string read_file(const std::filesystem::path& path) {
  QFile in(QString::fromStdString(path.string()));
  if (!in.open(QIODevice::ReadOnly)) qFatal("cannot read %s", path.c_str());
  return in.readAll().toStdString();
}

/// A folder with one case file per name.
class Folder {
 public:
  [[nodiscard]] std::filesystem::path path(const std::string& name) const {
    return std::filesystem::path(dir_.path().toStdString()) / name;
  }
  [[nodiscard]] CaseFile open_case(const std::string& name) const {
    return CaseFile::open(path(name), OpenMode::create_or_open);
  }
  /// Imports the bytes into a new case.
  struct Imported {
    CaseFile file;
    ImportResult result;
    std::vector<SourceIssue> issues;
    std::vector<Claim> claims;
  };
  [[nodiscard]] Imported import(const std::string& bytes, const ImportOptions& options = {},
                                const std::string& name = "log.json") {
    return import_file(write_file(path(name), bytes), options);
  }
  [[nodiscard]] Imported import_file(const std::filesystem::path& log, const ImportOptions& options = {}) {
    auto file = open_case("case" + std::to_string(next_++) + ".difr");
    const auto result = import_log(file, log, options);
    Imported out{std::move(file), result, {}, {}};
    out.issues = out.file.issues(result.source_id);
    out.file.for_each_claim(0, [&](Claim&& claim) {
      out.claims.push_back(std::move(claim));
      return true;
    });
    return out;
  }

 private:
  // Hundreds of small databases: in memory where the system offers it.
  QTemporaryDir dir_{QFileInfo("/dev/shm").isWritable() ? QString("/dev/shm/difr-XXXXXX")
                                                        : QDir::tempPath() + "/difr-XXXXXX"};
  int next_ = 0;
};

/// One good DiFR record; the number makes it unlike the others.
inline std::string good_record(int i) {
  const auto n = std::to_string(i);
  return R"({"id": "q)" + n + R"(", "prompt_token_ids": [1, 5, )" + n + R"(], "seed": )" + n +
         R"(, "outputs": [{"token_ids": [7, 8, )" + n + R"(], "finish_reason": "stop"}]})";
}

}  // namespace difr::testing
