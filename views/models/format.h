#pragma once
// Numbers for people, the same everywhere.

#include <QString>
#include <optional>

namespace difr::views {

[[nodiscard]] QString format_count(qint64 n);
[[nodiscard]] QString format_percent(double share);       ///< 2 decimals; "–" for NaN
[[nodiscard]] QString format_probability(double p);       ///< percent, scientific when tiny
[[nodiscard]] QString format_margin(double logits);       ///< 4 significant digits; "∞", "–"
[[nodiscard]] QString format_p(std::optional<double> p);  ///< "< 0.0001" below that
[[nodiscard]] QString format_duration(double seconds);    ///< "3 min 20 s"; "–" for NaN
[[nodiscard]] QString format_rate(double per_second);
[[nodiscard]] QString dash();

}  // namespace difr::views
