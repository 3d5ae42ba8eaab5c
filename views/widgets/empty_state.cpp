#include "views/widgets/empty_state.h"

#include <QEvent>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>
#include <tuple>

#include "views/theme/icons.h"
#include "views/theme/palette.h"

namespace difr::views {
namespace {

/// Repaints its icon at every theme and scale.
class IconLabel final : public QWidget {
 public:
  IconLabel(QIcon drawing, int side, double opacity, QWidget* parent)
      : QWidget(parent), drawing_(std::move(drawing)), opacity_(opacity) {
    setFixedSize(side, side);
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.setOpacity(opacity_);
    drawing_.paint(&painter, rect());
  }

 private:
  QIcon drawing_;
  double opacity_;
};

/// Keeps a widget's text in the muted colour through palette changes.
class Muter final : public QObject {
 public:
  explicit Muter(QWidget* widget) : QObject(widget), widget_(widget) {
    widget_->installEventFilter(this);
    apply();
  }
  bool eventFilter(QObject* object, QEvent* event) override {
    if (event->type() == QEvent::ApplicationPaletteChange || (event->type() == QEvent::PaletteChange && !applying_))
      apply();
    return QObject::eventFilter(object, event);
  }

 private:
  void apply() {
    applying_ = true;
    QPalette own = widget_->palette();
    // Over a card Qt takes the Text role, over the window WindowText.
    const QColor muted = colours(QGuiApplication::palette()).muted;
    own.setColor(QPalette::WindowText, muted);
    own.setColor(QPalette::Text, muted);
    widget_->setPalette(own);
    applying_ = false;
  }
  QWidget* widget_;
  bool applying_ = false;
};

}  // namespace

void set_muted(QWidget* widget) {
  new Muter(widget);
}

QWidget* make_icon(const QString& name, int side, QWidget* parent) {
  return new IconLabel(icon(name), side, 1, parent);
}

QLabel* make_label(const QString& text, TextStyle style, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  label->setFocusPolicy(Qt::NoFocus);
  QFont font = label->font();
  const qreal size = font.pointSizeF();
  switch (style) {
    case TextStyle::title:
      font.setPointSizeF(size * 1.55);
      font.setWeight(QFont::DemiBold);
      break;
    case TextStyle::section:
      font.setPointSizeF(size * 1.08);
      font.setWeight(QFont::DemiBold);
      break;
    case TextStyle::body:
      break;
    case TextStyle::small:
      font.setPointSizeF(size * 0.92);
      break;
  }
  label->setFont(font);
  return label;
}

std::pair<QLabel*, QLabel*> add_message(QVBoxLayout* column) {
  auto* title = make_label({}, TextStyle::section);
  title->setAlignment(Qt::AlignCenter);
  column->addWidget(title);
  auto* explanation = make_label({}, TextStyle::body);
  explanation->setAlignment(Qt::AlignCenter);
  explanation->setWordWrap(true);
  explanation->setMinimumWidth(320);
  explanation->setMaximumWidth(520);
  set_muted(explanation);
  // Not aligned but between stretches: an aligned label keeps the height of its first text and cuts a longer one.
  auto* middle = new QHBoxLayout;
  middle->addStretch(1);
  middle->addWidget(explanation, 100);
  middle->addStretch(1);
  column->addLayout(middle);
  return {title, explanation};
}

EmptyState::EmptyState(const QString& icon_name, QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(48, 48, 48, 48);
  column->setSpacing(10);
  column->addStretch(2);
  column->addWidget(new IconLabel(icon(icon_name), 48, 0.55, this), 0, Qt::AlignHCenter);
  column->addSpacing(6);
  std::tie(title_, explanation_) = add_message(column);
  column->addSpacing(8);
  buttons_ = new QHBoxLayout;
  buttons_->setSpacing(10);
  buttons_->addStretch();
  buttons_->addStretch();
  column->addLayout(buttons_);
  column->addStretch(3);
}

void EmptyState::set_text(const QString& title, const QString& explanation) {
  title_->setText(title);
  explanation_->setText(explanation);
  setAccessibleName(title);
  setAccessibleDescription(explanation);
}

QPushButton* EmptyState::add_button(const QString& text, std::function<void()> action) {
  auto* button = new QPushButton(text, this);
  button->setDefault(buttons_->count() == 2);
  button->setAutoDefault(true);
  button->setMinimumHeight(button->fontMetrics().height() + 16);
  connect(button, &QPushButton::clicked, this, [action = std::move(action)] { action(); });
  buttons_->insertWidget(buttons_->count() - 1, button);
  return button;
}

}  // namespace difr::views
