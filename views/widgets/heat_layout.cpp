#include "views/widgets/heat_layout.h"

#include <algorithm>
#include <unordered_map>

namespace difr::views {

HeatLayout layout_tokens(const std::vector<HeatToken>& tokens, double width, double line_height,
                         const std::function<double(const QString&)>& advance) {
  HeatLayout out;
  out.rects.reserve(tokens.size());
  std::unordered_map<QString, double> widths;  // texts repeat a lot, shaping is what costs
  std::vector<double> w(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto [found, fresh] = widths.try_emplace(tokens[i].text, 0.0);
    if (fresh) found->second = advance(tokens[i].text);
    w[i] = std::min(found->second, std::max(width, 1.0));
  }

  double x = 0, y = 0;
  const auto new_line = [&](std::size_t first) {
    x = 0;
    y += line_height;
    out.lines.push_back(first);
  };
  if (!tokens.empty()) out.lines.push_back(0);
  for (std::size_t i = 0; i < tokens.size();) {
    // A word: this token and those that continue it without a blank.
    std::size_t end = i + 1;
    double word = w[i];
    while (end < tokens.size() && !tokens[end - 1].breaks && !tokens[end].text.startsWith(QLatin1Char(' ')) &&
           tokens[end].prompt == tokens[i].prompt)
      word += w[end++];
    if (x > 0 && x + word > width) new_line(i);
    for (; i < end; ++i) {
      if (x > 0 && x + w[i] > width) new_line(i);
      const bool blank = x == 0 && tokens[i].text.size() > 1 && tokens[i].text.startsWith(QLatin1Char(' '));
      const double room = blank ? std::max(w[i] - advance(QStringLiteral(" ")), 1.0) : w[i];
      out.rects.emplace_back(x, y, room, line_height);
      x += room;
      if (tokens[i].breaks && i + 1 < tokens.size()) new_line(i + 1);
    }
  }
  out.height = tokens.empty() ? 0 : y + line_height;
  return out;
}

int HeatLayout::line_of(int token) const {
  const auto after = std::ranges::upper_bound(lines, static_cast<std::size_t>(std::max(token, 0)));
  return static_cast<int>(after - lines.begin()) - 1;
}

int HeatLayout::at(QPointF point) const {
  if (rects.empty() || point.y() < 0 || point.y() >= height) return -1;
  const double line_height = rects.front().height();
  const auto line = std::min(static_cast<std::size_t>(point.y() / line_height), lines.size() - 1);
  const std::size_t last = line + 1 < lines.size() ? lines[line + 1] : rects.size();
  for (std::size_t i = lines[line]; i < last; ++i)
    if (rects[i].contains(point)) return static_cast<int>(i);
  return -1;
}

}  // namespace difr::views
