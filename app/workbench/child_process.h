#pragma once
// A difr-audit child: JSON lines on stdout become events, stderr becomes the log. It ends with the window, even a killed one.

#include <QJsonObject>
#include <QProcess>
#include <QStringList>

namespace difr::workbench {

class ChildProcess final : public QObject {
  Q_OBJECT
 public:
  explicit ChildProcess(QObject* parent = nullptr);
  /// Asks politely, then insists: finished batches are in the case file either way.
  ~ChildProcess() override;

  void start(const QString& program, const QStringList& arguments);
  /// SIGTERM; a child that ignores it for ten seconds is killed.
  void cancel();
  [[nodiscard]] QStringList last_words() const { return last_words_; }

 signals:
  void event(const QJsonObject& line);
  void message(const QString& line);
  /// `crashed`: ended by a signal, or never started.
  void finished(int exit_code, bool crashed);

 private:
  void read_output();
  void read_errors();

  QProcess process_;
  QByteArray partial_;
  QByteArray partial_error_;
  QStringList last_words_;  ///< tail of stderr, for the error list
};

}  // namespace difr::workbench
