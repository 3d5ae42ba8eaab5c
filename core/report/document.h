#pragma once
// The report as a sequence of blocks, between the model (facts) and the back ends (HTML, PDF): wording and order are
// decided once. Texts may still hold any characters; back ends clean and escape them.

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/report/chart.h"
#include "core/report/report_model.h"

namespace difr::report {

enum class Tone : std::uint8_t { neutral, pass, fail, undetermined, muted };

struct Heading {
  int level = 1;  ///< 1: section, 2: subsection, 3: minor, not in the table of contents
  std::string id;
  std::string text;
};

struct Paragraph {
  enum class Style : std::uint8_t { normal, lead, note, callout };
  std::string text;
  Style style = Style::normal;
  Tone tone = Tone::neutral;
};

struct List {
  struct Item {
    std::string lead;  ///< set in bold before the text; may be empty
    std::string text;
  };
  std::vector<Item> items;
};

struct Scoreboard {
  struct Entry {
    std::string figure, label;
    Tone tone = Tone::neutral;
  };
  std::vector<Entry> entries;
};

struct Column {
  std::string title;
  double weight = 1;
  bool right = false;
  bool mono = false;
};

struct Cell {
  std::string text;
  Tone tone = Tone::neutral;
  std::string link = {};  ///< id of a heading; empty: none
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

struct Facts {
  struct Row {
    std::string name, value;
    bool mono = false;
  };
  std::vector<Row> rows;
};

struct Figure {
  Chart chart;
  std::string caption;
};

struct HeatToken {
  enum class State : std::uint8_t { scored, filtered, edge, unscored };
  std::string text;
  double share = 0;  ///< margin over the clip, 0..1
  State state = State::scored;
  std::string hint;  ///< shown on hover in HTML
};

struct Heat {
  std::vector<HeatToken> tokens;
};

struct Code {
  std::string text;
};

using Block = std::variant<Heading, Paragraph, List, Scoreboard, Table, Facts, Figure, Heat, Code>;

struct Document {
  std::string title, subject, byline, created_at, software, logo_png;
  std::vector<Block> blocks;
  std::string manifest;  ///< embedded in the HTML for machines

  template <class T>
  void add(T block) {
    blocks.emplace_back(std::move(block));
  }
};

[[nodiscard]] Document compose(const ReportModel& model);

// Parts of compose, by section.
void add_summary(Document& document, const ReportModel& model);
void add_verdict_table(Document& document, const ReportModel& model);
void add_providers(Document& document, const ReportModel& model);
void add_calibrations(Document& document, const ReportModel& model);
void add_sources(Document& document, const ReportModel& model);
void add_reference(Document& document, const ReportModel& model);
void add_method(Document& document, const ReportModel& model);
void add_limits(Document& document, const ReportModel& model);
void add_manifest(Document& document, const ReportModel& model);

[[nodiscard]] std::string describe(const SamplingParams& sampling);
[[nodiscard]] Tone tone_of(Outcome outcome);
/// Colour is never alone: a sign goes with it.
[[nodiscard]] std::string verdict_text(Outcome outcome);

[[nodiscard]] std::string render_html(const Document& document);
[[nodiscard]] std::string render_pdf(const Document& document);

}  // namespace difr::report
