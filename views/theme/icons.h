#pragma once
// Icons from resources/icons, drawn in the palette's text colour at whatever scale and theme is current.

#include <QIcon>
#include <QString>

#include "core/domain/verdict.h"

namespace difr::views {

/// `name` without folder and suffix. An unknown name gives an empty drawing, never a crash.
[[nodiscard]] QIcon icon(const QString& name);
[[nodiscard]] QIcon verdict_icon(Outcome outcome);
[[nodiscard]] QIcon app_icon();

}  // namespace difr::views
