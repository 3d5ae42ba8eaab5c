#include "app/workbench/case_reader.h"

namespace difr::workbench {

views::Problem to_problem(const std::exception& error, const QString& where) {
  views::Problem problem;
  problem.where = where;
  problem.message = QString::fromUtf8(error.what());
  if (const auto* known = dynamic_cast<const Error*>(&error)) {
    problem.where = QString::fromStdString(known->where());
    problem.remedy = QString::fromStdString(known->remedy());
    // what() repeats place and remedy; the list has columns for them.
    if (problem.message.startsWith(problem.where + QStringLiteral(": ")))
      problem.message.remove(0, problem.where.size() + 2);
    const QString tail = QStringLiteral(" (%1)").arg(problem.remedy);
    if (!problem.remedy.isEmpty() && problem.message.endsWith(tail)) problem.message.chop(tail.size());
  }
  return problem;
}

CaseReader::CaseReader(std::filesystem::path path, OpenMode mode)
    : path_(std::move(path)), mode_(mode), thread_([this](std::stop_token stop) { run(stop); }) {}

CaseReader::~CaseReader() {
  thread_.request_stop();
  thread_.join();
}

void CaseReader::push(std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
}

void CaseReader::deliver(std::function<void()> answer) {
  QMetaObject::invokeMethod(&gui_, std::move(answer), Qt::QueuedConnection);
}

void CaseReader::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      if (!wake_.wait(lock, stop, [this] { return !tasks_.empty(); })) break;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
  file_.reset();
}

}  // namespace difr::workbench
