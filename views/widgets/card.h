#pragma once
// Cards, the facts on them, and the splitters between them: what pages and panels are put together from.

#include <QFrame>
#include <QString>
#include <utility>

class QFormLayout;
class QLabel;
class QSplitter;
class QVBoxLayout;

namespace difr::views {

/// Gives a frame the look of a card: no border, the base colour.
void make_card(QFrame* frame);

/// Fills a card with a column that scrolls when it does not fit. `name` is read out by screen readers.
[[nodiscard]] QVBoxLayout* add_scrolling_column(QFrame* card, const QString& name);

/// A form of labelled facts, `spacing` pixels apart, at the end of the column.
[[nodiscard]] QFormLayout* add_facts(QVBoxLayout* column, int spacing);
/// Adds one and returns its labels: the muted name and the value.
std::pair<QLabel*, QLabel*> add_fact(QFormLayout* facts, const QString& name, const QString& value);
void clear_facts(QFormLayout* facts);

/// Panes that cannot be dragged shut, a card's gap apart.
[[nodiscard]] QSplitter* make_splitter(Qt::Orientation orientation);

}  // namespace difr::views
