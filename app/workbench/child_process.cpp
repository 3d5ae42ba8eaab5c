#include "app/workbench/child_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <QJsonDocument>
#include <QTimer>

namespace difr::workbench {
namespace {
constexpr int patience_ms = 10'000;
constexpr qsizetype words_kept = 12;
constexpr qsizetype longest_line = 1 << 22;  // a child that never ends its line must not eat the memory
}  // namespace

ChildProcess::ChildProcess(QObject* parent) : QObject(parent) {
  // A killed window must not leave a worker behind that writes into a case which the next window is working on. The
  // parent may have died between fork and prctl, when no signal would come any more.
  process_.setChildProcessModifier([window = ::getpid()] {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != window) ::_exit(1);
  });
  connect(&process_, &QProcess::readyReadStandardOutput, this, &ChildProcess::read_output);
  connect(&process_, &QProcess::readyReadStandardError, this, &ChildProcess::read_errors);
  connect(&process_, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
    read_output();
    read_errors();
    emit finished(code, status == QProcess::CrashExit);
  });
  connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) return;
    last_words_ << process_.errorString();
    emit finished(-1, true);
  });
}

ChildProcess::~ChildProcess() {
  process_.disconnect(this);
  if (process_.state() == QProcess::NotRunning) return;
  process_.terminate();
  if (!process_.waitForFinished(1500)) {
    process_.kill();
    process_.waitForFinished(1500);
  }
}

void ChildProcess::start(const QString& program, const QStringList& arguments) {
  process_.start(program, arguments, QIODevice::ReadOnly);
}

void ChildProcess::cancel() {
  process_.terminate();
  QTimer::singleShot(patience_ms, this, [this] {
    if (process_.state() != QProcess::NotRunning) process_.kill();
  });
}

void ChildProcess::read_output() {
  partial_ += process_.readAllStandardOutput();
  for (qsizetype end = partial_.indexOf('\n'); end >= 0; end = partial_.indexOf('\n')) {
    const QByteArray line = partial_.left(end).trimmed();
    partial_.remove(0, end + 1);
    if (line.isEmpty()) continue;
    const QJsonDocument json = QJsonDocument::fromJson(line);
    if (json.isObject() && json.object().contains(QLatin1String("event"))) emit event(json.object());
  }
  if (partial_.size() > longest_line) partial_.clear();
}

void ChildProcess::read_errors() {
  partial_error_ += process_.readAllStandardError();
  // A progress line that rewrites itself ends in a carriage return.
  partial_error_.replace('\r', '\n');
  for (qsizetype end = partial_error_.indexOf('\n'); end >= 0; end = partial_error_.indexOf('\n')) {
    const QString line = QString::fromUtf8(partial_error_.left(end)).trimmed();
    partial_error_.remove(0, end + 1);
    if (line.isEmpty()) continue;
    last_words_ << line;
    if (last_words_.size() > words_kept) last_words_.removeFirst();
    emit message(line);
  }
  if (partial_error_.size() > longest_line) partial_error_.clear();
}

}  // namespace difr::workbench
