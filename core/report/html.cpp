// Document to one self-contained page. Well-formed XML too, so that a strict parser can check it.

#include <fmt/format.h>

#include <iterator>

#include "core/report/document.h"
#include "core/report/html_style.h"
#include "core/report/text.h"

namespace difr::report {
namespace {

std::string esc(std::string_view raw) {
  return escape_xml(visible(raw));
}

const char* tone_class(Tone tone) {
  switch (tone) {
    case Tone::pass:
      return "pass";
    case Tone::fail:
      return "fail";
    case Tone::undetermined:
      return "undetermined";
    case Tone::muted:
      return "muted";
    case Tone::neutral:
      break;
  }
  return "neutral";
}

class HtmlWriter {
 public:
  explicit HtmlWriter(std::string& out) : out_(out) {}

  void operator()(const Heading& h) {
    const std::string id = h.id.empty() ? "" : fmt::format(R"( id="{}")", esc(h.id));
    put("<h{0}{1}>{2}</h{0}>\n", h.level + 1, id, esc(h.text));
  }
  void operator()(const Paragraph& p) {
    const char* style = p.style == Paragraph::Style::lead      ? "lead"
                        : p.style == Paragraph::Style::note    ? "note"
                        : p.style == Paragraph::Style::callout ? "callout"
                                                               : "body";
    put(R"(<p class="{} {}">{}</p>)", style, tone_class(p.tone), esc(p.text));
    out_ += '\n';
  }
  void operator()(const List& list) {
    out_ += "<ul>\n";
    for (const auto& item : list.items) {
      put("<li>{}{}</li>\n", item.lead.empty() ? "" : "<strong>" + esc(item.lead) + "</strong> ", esc(item.text));
    }
    out_ += "</ul>\n";
  }
  void operator()(const Scoreboard& board) {
    out_ += "<div class=\"board\">\n";
    for (const auto& e : board.entries) {
      put(R"(<div class="card {}"><span class="figure">{}</span> <span>{}</span></div>)", tone_class(e.tone),
          esc(e.figure), esc(e.label));
      out_ += '\n';
    }
    out_ += "</div>\n";
  }
  void operator()(const Table& table) {
    out_ += "<div class=\"scroll\"><table>\n<thead><tr>";
    for (const auto& column : table.columns)
      put(R"(<th scope="col"{}>{}</th>)", column.right ? R"( class="right")" : "", esc(column.title));
    out_ += "</tr></thead>\n<tbody>\n";
    for (const auto& row : table.rows) {
      out_ += "<tr>";
      for (std::size_t i = 0; i < row.size() && i < table.columns.size(); ++i) cell(table.columns[i], row[i]);
      out_ += "</tr>\n";
    }
    out_ += "</tbody></table></div>\n";
  }
  void operator()(const Facts& facts) {
    out_ += "<div class=\"scroll\"><table class=\"facts\"><tbody>\n";
    for (const auto& row : facts.rows) {
      put("<tr><th scope=\"row\">{}</th><td{}>{}</td></tr>\n", esc(row.name), row.mono ? " class=\"mono\"" : "",
          esc(row.value));
    }
    out_ += "</tbody></table></div>\n";
  }
  void operator()(const Figure& figure) {
    put("<figure>\n{}\n<figcaption>{}</figcaption>\n</figure>\n", render_svg(figure.chart), esc(figure.caption));
  }
  void operator()(const Heat& heat) {
    out_ += "<div class=\"heat\">";
    for (const auto& token : heat.tokens) {
      const char* state = token.state == HeatToken::State::filtered   ? " out"
                          : token.state == HeatToken::State::edge     ? " edge"
                          : token.state == HeatToken::State::unscored ? " none"
                                                                      : "";
      const int level = token.share <= 0 ? 0 : 1 + static_cast<int>(token.share * 8.999);
      put(R"(<span class="t h{}{}" title="{}">{}</span>)", level, state, esc(token.hint), esc(token.text));
      out_ += "<wbr/>";
    }
    out_ += "</div>\n";
  }
  void operator()(const Code& code) { put("<pre>{}</pre>\n", escape_xml(clean_utf8(code.text))); }

 private:
  void cell(const Column& column, const Cell& c) {
    std::string classes;
    if (column.right) classes += " right";
    if (column.mono) classes += " mono";
    if (c.tone != Tone::neutral) classes += std::string(" tone ") + tone_class(c.tone);
    const std::string text =
        c.link.empty() ? esc(c.text) : fmt::format("<a href=\"#{}\">{}</a>", esc(c.link), esc(c.text));
    put("<td{}>{}</td>", classes.empty() ? "" : fmt::format(" class=\"{}\"", classes.substr(1)), text);
  }
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  std::string& out_;
};

std::string script_safe(std::string_view json) {
  std::string out;
  for (const char c : json) {
    switch (c) {  // inside JSON these occur in strings only, where the escape means the same
      case '<':
        out += "\\u003c";
        break;
      case '>':
        out += "\\u003e";
        break;
      case '&':
        out += "\\u0026";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string contents(const Document& document) {
  std::string out = "<nav aria-label=\"Contents\"><ol>\n";
  for (const auto& block : document.blocks) {
    const auto* h = std::get_if<Heading>(&block);
    if (h && h->level == 1) out += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", esc(h->id), esc(h->text));
  }
  return out + "</ol></nav>\n";
}

}  // namespace

std::string render_html(const Document& document) {
  std::string out = fmt::format(R"(<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" lang="en">
<head>
<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<meta name="generator" content="{}"/>
<title>{}</title>
<style>
{}</style>
</head>
<body>
<header>
)",
                                esc(document.software), esc(document.title), html_style());
  if (!document.logo_png.empty())
    out +=
        fmt::format("<img class=\"logo\" alt=\"Logo\" src=\"data:image/png;base64,{}\"/>\n", base64(document.logo_png));
  out += fmt::format("<h1>{}</h1>\n", esc(document.title));
  if (!document.subject.empty()) out += fmt::format("<p class=\"subject\">{}</p>\n", esc(document.subject));
  out += fmt::format("<p class=\"note\">{}{}{}</p>\n", document.byline.empty() ? "" : esc(document.byline) + " · ",
                     document.created_at.empty() ? "" : esc(document.created_at) + " · ", esc(document.software));
  out += "</header>\n" + contents(document) + "<main>\n";
  HtmlWriter writer(out);
  for (const auto& block : document.blocks) std::visit(writer, block);
  out += "</main>\n<script type=\"application/json\" id=\"difr-manifest\">" +
         script_safe(clean_utf8(document.manifest)) + "</script>\n</body>\n</html>\n";
  return out;
}

}  // namespace difr::report

namespace difr {

std::string render_html(const ReportModel& model) {
  return report::render_html(report::compose(model));
}

}  // namespace difr
