#pragma once
// Numbers for people, the same everywhere.

#include <QString>
#include <optional>
#include <string_view>

namespace difr::views {

[[nodiscard]] QString format_count(qint64 n);
[[nodiscard]] QString format_percent(double share);       ///< 2 decimals; "–" for NaN
[[nodiscard]] QString format_probability(double p);       ///< percent, scientific when tiny
[[nodiscard]] QString format_margin(double logits);       ///< 4 significant digits; "∞", "–"
[[nodiscard]] QString format_p(std::optional<double> p);  ///< "< 0.0001" below that
[[nodiscard]] QString format_duration(double seconds);    ///< "3 min 20 s"; "–" for NaN
[[nodiscard]] QString format_rate(double per_second);
[[nodiscard]] QString format_rate_of(double share);  ///< of false alarms: "1 %", "0.05 %"
[[nodiscard]] QString format_nats(double nats);      ///< 1 decimal; "∞", "–"
[[nodiscard]] QString dash();
[[nodiscard]] QString from_utf8(std::string_view utf8);

}  // namespace difr::views
