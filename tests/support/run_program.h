#pragma once
// Runs one of the two programs as a user would and keeps what it printed.

#include <QProcess>
#include <QString>
#include <QStringList>

namespace difr::test {

struct ProgramResult {
  int code = -1;  ///< -1: did not start, crashed or timed out
  QByteArray out;
  QByteArray err;
};

inline ProgramResult run_program(const QString& name, const QStringList& arguments, int timeout_ms = 300'000, const QByteArray& input = {}) {
  QProcess process;
  process.start(QStringLiteral(DIFR_BIN_DIR "/") + name, arguments);
  if (!input.isEmpty()) process.write(input);
  process.closeWriteChannel();
  ProgramResult result;
  if (!process.waitForFinished(timeout_ms)) process.kill();
  process.waitForFinished();
  result.out = process.readAllStandardOutput();
  result.err = process.readAllStandardError();
  if (process.exitStatus() == QProcess::NormalExit && process.error() == QProcess::UnknownError) result.code = process.exitCode();
  return result;
}

}  // namespace difr::test
