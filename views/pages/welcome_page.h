#pragma once
// Shown while no case is open: the ways in.

#include <QStringList>

#include "views/pages/page.h"

class QListWidget;
class QLabel;

namespace difr::views {

class WelcomePage final : public Page {
  Q_OBJECT
 public:
  WelcomePage(const PageContext& context, QWidget* parent);
  void arrive(const Location&) override {}
  void refresh() override {}
  void set_recent(const QStringList& paths);

 signals:
  void open_wanted();
  void new_wanted();
  void recent_wanted(const QString& path);

 private:
  QListWidget* recent_;
  QLabel* recent_title_;
};

}  // namespace difr::views
