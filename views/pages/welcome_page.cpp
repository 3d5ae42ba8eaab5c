#include "views/pages/welcome_page.h"

#include <QDir>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QVBoxLayout>

#include "views/theme/icons.h"
#include "views/widgets/empty_state.h"

namespace difr::views {

WelcomePage::WelcomePage(const PageContext& page_context, QWidget* parent) : Page(page_context, parent) {
  auto* outer = new QHBoxLayout(this);
  outer->addStretch(1);
  auto* column = new QVBoxLayout;
  column->setSpacing(10);
  outer->addLayout(column, 4);
  outer->addStretch(1);

  column->addStretch(2);
  auto* head = new QHBoxLayout;
  head->setSpacing(18);
  auto* logo = new QLabel;
  logo->setPixmap(app_icon().pixmap(64, 64));
  logo->setAccessibleName(tr("DiFR Workbench"));
  head->addWidget(logo);
  auto* words = new QVBoxLayout;
  words->setSpacing(4);
  words->addWidget(make_label(tr("DiFR Workbench"), TextStyle::title));
  auto* what = make_label(
      tr("Find out whether an LLM provider really ran the model, the weights and the sampling that it declared."),
      TextStyle::body);
  what->setWordWrap(true);
  set_muted(what);
  words->addWidget(what);
  head->addLayout(words, 1);
  column->addLayout(head);
  column->addSpacing(18);

  const auto way_in = [&](const QString& icon_name, const QString& text, const QString& explanation, auto action) {
    auto* line = new QHBoxLayout;
    line->setSpacing(14);
    auto* button = new QPushButton(icon(icon_name), text);
    button->setMinimumWidth(fontMetrics().averageCharWidth() * 30);
    button->setMinimumHeight(fontMetrics().height() + 20);
    button->setIconSize({20, 20});
    button->setStyleSheet(QStringLiteral("text-align:left; padding-left:12px;"));
    button->setAccessibleDescription(explanation);
    connect(button, &QPushButton::clicked, this, action);
    line->addWidget(button);
    auto* label = make_label(explanation, TextStyle::body);
    label->setWordWrap(true);
    set_muted(label);
    line->addWidget(label, 1);
    column->addLayout(line);
    return button;
  };
  auto* demo = way_in(QStringLiteral("demo"), tr("Open the demo case"),
                      tr("Eleven real provider logs over a small bundled model: which of them lied?"),
                      [this] { context().jobs->open_demo(); });
  demo->setObjectName(QStringLiteral("open_demo"));
  demo->setDefault(true);
  way_in(QStringLiteral("import"), tr("Import logs…"),
         tr("Start a case from provider logs. Dropping them onto the window does the same."),
         [this] { context().import(); });
  way_in(QStringLiteral("open"), tr("Open a case…"), tr("Go on with a *.difr case file."),
         [this] { emit open_wanted(); });
  way_in(QStringLiteral("new"), tr("New case…"), tr("Choose where an empty case file shall lie."),
         [this] { emit new_wanted(); });

  column->addSpacing(14);
  recent_title_ = make_label(tr("Recent cases"), TextStyle::section);
  column->addWidget(recent_title_);
  recent_ = new QListWidget;
  recent_->setFrameShape(QFrame::NoFrame);
  recent_->setAccessibleName(tr("Recent cases"));
  recent_->setMaximumHeight(fontMetrics().height() * 9);
  connect(recent_, &QListWidget::itemActivated, this,
          [this](QListWidgetItem* item) { emit recent_wanted(item->data(Qt::UserRole).toString()); });
  column->addWidget(recent_);
  column->addStretch(3);
}

void WelcomePage::set_recent(const QStringList& paths) {
  recent_->clear();
  for (const QString& path : paths) {
    const QFileInfo file(path);
    auto* item = new QListWidgetItem(
        icon(QStringLiteral("request")),
        tr("%1   —   %2").arg(file.completeBaseName(), QDir::toNativeSeparators(file.path())), recent_);
    item->setData(Qt::UserRole, path);
    item->setToolTip(path);
  }
  recent_->setVisible(!paths.isEmpty());
  recent_title_->setVisible(!paths.isEmpty());
}

}  // namespace difr::views
