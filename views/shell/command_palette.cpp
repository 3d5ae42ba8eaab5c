#include "views/shell/command_palette.h"

#include <QGraphicsDropShadowEffect>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "views/theme/icons.h"

namespace difr::views {

int match_score(const QString& query, const QString& title) {
  if (query.isEmpty()) return 1;
  int score = 1, run = 0;
  qsizetype at = 0;
  for (const QChar wanted : query) {
    if (wanted.isSpace()) continue;
    bool found = false;
    for (; at < title.size() && !found; ++at) {
      if (title[at].toCaseFolded() != wanted.toCaseFolded()) {
        run = 0;
        continue;
      }
      const bool word_start = at == 0 || !title[at - 1].isLetterOrNumber();
      score += 1 + 3 * run + (word_start ? 6 : 0);
      ++run;
      found = true;
    }
    if (!found) return 0;
  }
  return score;
}

CommandPalette::CommandPalette(QWidget* window) : QFrame(window) {
  setFrameShape(StyledPanel);
  setAutoFillBackground(true);
  setBackgroundRole(QPalette::Base);
  setAccessibleName(tr("Command palette"));
  auto* shadow = new QGraphicsDropShadowEffect(this);
  shadow->setBlurRadius(36);
  shadow->setOffset(0, 8);
  shadow->setColor(QColor(0, 0, 0, 110));
  setGraphicsEffect(shadow);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(10, 10, 10, 10);
  query_ = new QLineEdit;
  query_->setPlaceholderText(tr("What do you want to do?"));
  query_->addAction(icon(QStringLiteral("search")), QLineEdit::LeadingPosition);
  query_->setMinimumHeight(fontMetrics().height() + 16);
  query_->setAccessibleName(tr("Search commands"));
  list_ = new QListWidget;
  list_->setFrameShape(NoFrame);
  list_->setFocusPolicy(Qt::NoFocus);
  list_->setAccessibleName(tr("Commands"));
  column->addWidget(query_);
  column->addWidget(list_);
  query_->installEventFilter(this);
  connect(query_, &QLineEdit::textChanged, this, &CommandPalette::filter);
  connect(list_, &QListWidget::itemClicked, this, &CommandPalette::run_current);
  hide();
}

void CommandPalette::open(std::vector<Command> commands) {
  commands_ = std::move(commands);
  const QWidget* window = parentWidget();
  const int width = std::min(620, window->width() - 40);
  setGeometry((window->width() - width) / 2, window->height() / 9, width,
              std::min(440, window->height() - window->height() / 5));
  query_->clear();
  filter({});
  show();
  raise();
  query_->setFocus(Qt::PopupFocusReason);
}

void CommandPalette::filter(const QString& query) {
  struct Hit {
    int score;
    std::size_t index;
  };
  std::vector<Hit> hits;
  for (std::size_t i = 0; i < commands_.size(); ++i)
    if (const int score = match_score(query.trimmed(), commands_[i].title); score > 0) hits.push_back({score, i});
  std::ranges::stable_sort(hits, std::ranges::greater{}, &Hit::score);
  list_->clear();
  for (const Hit& hit : hits) {
    const Command& command = commands_[hit.index];
    auto* item = new QListWidgetItem(
        command.icon,
        command.hint.isEmpty() ? command.title : QStringLiteral("%1      %2").arg(command.title, command.hint), list_);
    item->setData(Qt::UserRole, static_cast<qulonglong>(hit.index));
    item->setSizeHint({0, fontMetrics().height() + 12});
  }
  list_->setCurrentRow(0);
}

bool CommandPalette::eventFilter(QObject* object, QEvent* event) {
  if (object == query_ && event->type() == QEvent::FocusOut) hide();
  if (object == query_ && event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    const int n = list_->count();
    switch (key) {
      case Qt::Key_Escape:
        hide();
        return true;
      case Qt::Key_Return:
      case Qt::Key_Enter:
        run_current();
        return true;
      case Qt::Key_Down:
        if (n) list_->setCurrentRow((list_->currentRow() + 1) % n);
        return true;
      case Qt::Key_Up:
        if (n) list_->setCurrentRow((list_->currentRow() + n - 1) % n);
        return true;
      default:
        break;
    }
  }
  return QFrame::eventFilter(object, event);
}

void CommandPalette::run_current() {
  const QListWidgetItem* item = list_->currentItem();
  if (!item) return;
  const auto run = commands_[item->data(Qt::UserRole).toULongLong()].run;
  hide();
  run();
}

}  // namespace difr::views
