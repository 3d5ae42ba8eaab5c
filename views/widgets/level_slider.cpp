#include "views/widgets/level_slider.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSlider>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "views/models/format.h"
#include "views/widgets/empty_state.h"

namespace difr::views {

LevelSlider::LevelSlider(const QString& title, const QString& tip, std::vector<double> levels, QWidget* parent)
    : QWidget(parent), levels_(std::move(levels)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(3);
  auto* head = new QHBoxLayout;
  auto* label = make_label(title, TextStyle::body);
  head->addWidget(label);
  head->addStretch();
  value_ = make_label({}, TextStyle::section);
  head->addWidget(value_);
  column->addLayout(head);
  slider_ = new QSlider(Qt::Horizontal);
  slider_->setRange(0, static_cast<int>(levels_.size()) - 1);
  slider_->setPageStep(3);
  slider_->setTickPosition(QSlider::TicksBelow);
  slider_->setTickInterval(1);
  slider_->setToolTip(tip);
  QString plain = title;
  slider_->setAccessibleName(plain.remove(QLatin1Char('&')));
  label->setBuddy(slider_);
  column->addWidget(slider_);
  consequence_ = make_label({}, TextStyle::small);
  consequence_->setWordWrap(true);
  set_muted(consequence_);
  column->addWidget(consequence_);
  column->addStretch();
  connect(slider_, &QSlider::valueChanged, this, [this] {
    show_level();
    emit changed(level());
  });
  show_level();
}

double LevelSlider::level() const {
  return levels_[static_cast<std::size_t>(slider_->value())];
}

void LevelSlider::set_level(double level) {
  const QSignalBlocker quiet(slider_);
  const auto near = [level](double step) { return std::abs(step - level) <= 1e-9 * level; };
  auto found = std::ranges::find_if(levels_, near);
  if (found == levels_.end()) {
    found = levels_.insert(std::ranges::find_if(levels_, [level](double step) { return step < level; }), level);
    slider_->setMaximum(static_cast<int>(levels_.size()) - 1);
  }
  slider_->setValue(static_cast<int>(found - levels_.begin()));
  show_level();
}

void LevelSlider::set_consequence(const QString& text) {
  consequence_->setText(text);
  slider_->setAccessibleDescription(text);
}

void LevelSlider::show_level() {
  value_->setText(format_rate_of(level()));
}

}  // namespace difr::views
