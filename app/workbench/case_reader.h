#pragma once
// One thread with one CaseFile, read-only unless it is there to write. Questions are answered in order; answers are
// delivered on the GUI thread.

#include <QCoreApplication>
#include <QPointer>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "core/util/error.h"
#include "views/data/case_source.h"

namespace difr::workbench {

/// What an exception says, as a line of the error list.
[[nodiscard]] views::Problem to_problem(const std::exception& error, const QString& where);

class CaseReader {
 public:
  explicit CaseReader(std::filesystem::path path, OpenMode mode = OpenMode::read_only);
  ~CaseReader();
  CaseReader(const CaseReader&) = delete;
  CaseReader& operator=(const CaseReader&) = delete;

  /// `work` runs on the reader's thread. The reply is dropped when `context` dies or the reader is destroyed first.
  template <class T>
  void ask(QObject* context, std::function<T(CaseFile&)> work, views::Reply<T> reply) {
    push([this, context = QPointer<QObject>(context), work = std::move(work), reply = std::move(reply)] {
      auto answer = std::make_shared<tl::expected<T, views::Problem>>(attempt<T>(work));
      deliver([context, reply, answer] {
        if (context) reply(std::move(*answer));
      });
    });
  }

 private:
  template <class T>
  tl::expected<T, views::Problem> attempt(const std::function<T(CaseFile&)>& work) {
    try {
      if (!file_) file_.emplace(CaseFile::open(path_, mode_));
      return work(*file_);
    } catch (const std::exception& error) {
      return tl::unexpected(to_problem(error, QString::fromStdString(path_.string())));
    }
  }
  void push(std::function<void()> task);
  void deliver(std::function<void()> answer);
  void run(std::stop_token stop);

  const std::filesystem::path path_;
  const OpenMode mode_;
  QObject gui_;  ///< lives on the GUI thread; answers posted to it die with it
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<std::function<void()>> tasks_;
  std::optional<CaseFile> file_;  ///< only touched by the thread
  std::jthread thread_;           ///< last: joined before anything it uses goes
};

}  // namespace difr::workbench
