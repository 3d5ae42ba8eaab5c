#include "views/widgets/progress_delegate.h"

#include <QApplication>
#include <QPainter>

#include "views/models/job_model.h"
#include "views/theme/palette.h"

namespace difr::views {

void ProgressDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  QStyleOptionViewItem item = option;
  initStyleOption(&item, index);
  const QString text = item.text;
  item.text.clear();
  QApplication::style()->drawControl(QStyle::CE_ItemViewItem, &item, painter, item.widget);

  const Colours& c = colours(option.palette);
  const bool selected = option.state & QStyle::State_Selected;
  const QRectF area = QRectF(option.rect).adjusted(8, 0, -8, 0);
  const double share = index.data(JobModel::share_role).toDouble();
  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  const QRectF track(area.left(), area.bottom() - 8, area.width(), 4);
  painter->setPen(Qt::NoPen);
  painter->setBrush(selected ? QColor(255, 255, 255, 70) : c.grid);
  painter->drawRoundedRect(track, 2, 2);
  if (share > 0) {
    painter->setBrush(selected ? option.palette.highlightedText().color() : c.accent);
    painter->drawRoundedRect(QRectF(track.topLeft(), QSizeF(track.width() * qMin(share, 1.0), track.height())), 2, 2);
  }
  painter->setPen(selected ? option.palette.highlightedText().color() : option.palette.text().color());
  painter->setFont(item.font);
  painter->drawText(area.adjusted(0, 0, 0, -7), Qt::AlignLeft | Qt::AlignVCenter,
                    painter->fontMetrics().elidedText(text, Qt::ElideRight, int(area.width())));
  painter->restore();
}

}  // namespace difr::views
