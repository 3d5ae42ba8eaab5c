#include "app/workbench/screenshots.h"

#include <QPixmap>
#include <QTimer>
#include <algorithm>

namespace difr::workbench {
namespace {
constexpr int settle_ms = 700;  // a page reads in the background; a picture taken earlier would show it half filled
constexpr int patience_ms = 120'000;  // for pages that compute; then the picture shows them at work
}  // namespace

Screenshots::Screenshots(views::MainWindow& window, views::CaseSource& cases, QDir folder,
                         std::function<void(bool)> set_theme, std::function<void()> done)
    : QObject(&window),
      window_(window),
      cases_(cases),
      folder_(std::move(folder)),
      set_theme_(std::move(set_theme)),
      done_(std::move(done)) {}

void Screenshots::start() {
  folder_.mkpath(QStringLiteral("."));
  const auto picture = [this](views::Location at, const QString& name) {
    for (const bool dark : {false, true}) {
      steps_.emplace_back([this, at, dark] {
        set_theme_(dark);
        window_.navigation().go(at);
      });
      steps_.emplace_back([this, name, dark] {
        grab(QStringLiteral("%1-%2").arg(name, dark ? QStringLiteral("dark") : QStringLiteral("light")));
      });
    }
  };
  if (!cases_.is_open()) {
    picture({views::page_id::welcome}, views::page_id::welcome);
    return next();
  }
  // The first flagged request shows marks among honest tokens; the worst one would be all marks.
  RequestQuery query;
  query.flagged_only = true;
  query.limit = 1;
  cases_.load_page(this, query, [this, picture](tl::expected<std::vector<RequestSummary>, views::Problem> reply) {
    for (const views::PageSpec& spec : window_.pages()) {
      views::Location at{spec.id};
      if (reply && !reply->empty() && spec.id == views::page_id::request) at.request_id = reply->front().id;
      if (reply && !reply->empty() && spec.id != views::page_id::overview) at.provider_id = reply->front().provider_id;
      picture(at, spec.id);
    }
    next();
  });
}

void Screenshots::next() {
  const views::Page* shown = window_.page(window_.navigation().current().page);
  if (shown && shown->busy() && waited_ms_ < patience_ms) {
    waited_ms_ += settle_ms;
    QTimer::singleShot(settle_ms, this, &Screenshots::next);
    return;
  }
  waited_ms_ = 0;
  if (step_ == steps_.size()) return done_();
  steps_[step_++]();
  QTimer::singleShot(settle_ms, this, &Screenshots::next);
}

void Screenshots::grab(const QString& name) const {
  for (const int scale : {1, 2}) {
    QPixmap image(window_.size() * scale);
    image.setDevicePixelRatio(scale);
    window_.render(&image);
    image.save(folder_.filePath(scale == 1 ? name + QStringLiteral(".png") : name + QStringLiteral("@2x.png")));
  }
}

}  // namespace difr::workbench
