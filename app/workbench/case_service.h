#pragma once
// The case as the pages see it, over CaseFile. Two reader threads: one for what people wait for (pages, requests),
// one for what may take long (counts, overview).

#include <map>
#include <memory>
#include <mutex>

#include "app/workbench/case_reader.h"

namespace difr::workbench {

/// Tokenizers found so far, shared by readers; loading happens on their threads.
class TokenizerCache {
 public:
  /// Null when the file is missing or broken: text then falls back to ids.
  [[nodiscard]] std::shared_ptr<const TokenizerText> get(const std::filesystem::path& file);

 private:
  std::mutex mutex_;
  std::map<std::filesystem::path, std::shared_ptr<const TokenizerText>> known_;
};

class CaseService final : public views::CaseSource {
  Q_OBJECT
 public:
  explicit CaseService(QObject* parent = nullptr);
  ~CaseService() override;

  [[nodiscard]] bool is_open() const override { return open_; }
  [[nodiscard]] QString path() const override { return path_; }
  void open(const QString& path, bool create) override;
  void close() override;
  void reload() override { announce_change(); }

  void load_overview(QObject* context, views::Reply<std::shared_ptr<const views::CaseOverview>> reply) override;
  void load_page(QObject* context, const RequestQuery& query, views::Reply<std::vector<RequestSummary>> reply) override;
  void count(QObject* context, const RequestQuery& query, views::Reply<std::int64_t> reply) override;
  void load_request(QObject* context, std::int64_t request_id,
                    views::Reply<std::shared_ptr<const views::RequestDetail>> reply) override;

  void add_finding(QObject* context, const Finding& finding, views::Reply<std::int64_t> reply) override;
  void remove_finding(QObject* context, std::int64_t finding_id, views::Reply<bool> reply) override;

  /// Something was written: forget what is cached and tell the pages.
  void announce_change();
  /// Folder of the reference model last used; its tokenizer.json gives the text.
  void set_model_dir(const QString& dir) { model_dir_ = dir; }
  [[nodiscard]] QString model_dir() const { return model_dir_; }

 private:
  [[nodiscard]] CaseReader& writer();

  bool open_ = false;
  QString path_;
  QString model_dir_;
  std::shared_ptr<const views::CaseOverview> overview_;
  std::shared_ptr<TokenizerCache> tokenizers_ = std::make_shared<TokenizerCache>();
  std::unique_ptr<CaseReader> opening_reader_;  ///< of a case that has not answered yet
  std::unique_ptr<CaseReader> quick_;
  std::unique_ptr<CaseReader> slow_;
  std::unique_ptr<CaseReader> writer_;  ///< made at the first finding
};

}  // namespace difr::workbench
