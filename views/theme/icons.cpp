#include "views/theme/icons.h"

#include <QGuiApplication>
#include <QIconEngine>
#include <QPainter>
#include <QPixmap>
#include <QSvgRenderer>
#include <memory>

#include "views/theme/palette.h"

namespace difr::views {
namespace {

enum class Tint { text, pass, fail, undetermined };

/// Paints an SVG as a stencil. The palette is asked at every paint, so a theme change needs no new icons.
class StencilEngine final : public QIconEngine {
 public:
  StencilEngine(QString file, Tint tint)
      : file_(std::move(file)), tint_(tint), svg_(std::make_shared<QSvgRenderer>(file_)) {}

  void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State) override {
    const qreal dpr = painter->device() ? painter->device()->devicePixelRatioF() : 1.0;
    painter->drawPixmap(rect, draw(rect.size() * dpr, dpr, mode));
  }
  QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State) override { return draw(size, 1.0, mode); }
  QPixmap scaledPixmap(const QSize& size, QIcon::Mode mode, QIcon::State, qreal) override {
    return draw(size, 1.0, mode);
  }
  [[nodiscard]] QIconEngine* clone() const override { return new StencilEngine(file_, tint_); }
  [[nodiscard]] QString key() const override { return QStringLiteral("difr-stencil"); }
  bool isNull() override { return !svg_->isValid(); }

 private:
  [[nodiscard]] QColor colour(QIcon::Mode mode) const {
    const QPalette palette = QGuiApplication::palette();
    const Colours& c = colours(palette);
    if (mode == QIcon::Selected) return palette.color(QPalette::HighlightedText);
    switch (tint_) {
      case Tint::pass:
        return c.pass;
      case Tint::fail:
        return c.fail;
      case Tint::undetermined:
        return c.undetermined;
      case Tint::text:
        break;
    }
    if (mode == QIcon::Disabled) return palette.color(QPalette::Disabled, QPalette::WindowText);
    return palette.color(QPalette::WindowText);
  }

  [[nodiscard]] QPixmap draw(const QSize& pixels, qreal dpr, QIcon::Mode mode) const {
    QPixmap out(pixels);
    out.fill(Qt::transparent);
    if (svg_->isValid()) {
      QPainter painter(&out);
      svg_->render(&painter, QRectF(QPointF(0, 0), QSizeF(pixels)));
      painter.setCompositionMode(QPainter::CompositionMode_SourceIn);
      painter.fillRect(out.rect(), colour(mode));
    }
    out.setDevicePixelRatio(dpr);
    return out;
  }

  QString file_;
  Tint tint_;
  std::shared_ptr<QSvgRenderer> svg_;
};

QIcon stencil(const QString& name, Tint tint) {
  return QIcon(new StencilEngine(QStringLiteral(":/difr/icons/%1.svg").arg(name), tint));
}

}  // namespace

QIcon icon(const QString& name) {
  return stencil(name, Tint::text);
}

QIcon verdict_icon(Outcome outcome) {
  switch (outcome) {
    case Outcome::pass:
      return stencil(QStringLiteral("pass"), Tint::pass);
    case Outcome::fail:
      return stencil(QStringLiteral("fail"), Tint::fail);
    case Outcome::undetermined:
      break;
  }
  return stencil(QStringLiteral("undetermined"), Tint::undetermined);
}

QIcon app_icon() {
  return QIcon(QStringLiteral(":/difr/icons/difr-workbench.svg"));
}

}  // namespace difr::views
