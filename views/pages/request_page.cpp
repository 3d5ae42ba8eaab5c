#include "views/pages/request_page.h"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QSplitter>
#include <QStackedLayout>
#include <QToolTip>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <limits>

#include "views/charts/margin_chart.h"
#include "views/models/candidate_model.h"
#include "views/models/format.h"
#include "views/widgets/empty_state.h"
#include "views/widgets/heat_text.h"
#include "views/widgets/table_view.h"

namespace difr::views {
namespace {

HeatToken make_token(const TokenizerText* tokenizer, TokenId id) {
  HeatToken token;
  token.text = tokenizer ? QString::fromStdString(tokenizer->text(id)) : QStringLiteral(" #%1").arg(id);
  token.breaks = token.text.contains(QLatin1Char('\n'));
  token.text.replace(QLatin1String("\r"), QString())
      .replace(QLatin1Char('\n'), QChar(0x21B5))
      .replace(QLatin1Char('\t'), QChar(0x21E5));
  return token;
}

QWidget* panel(QWidget* content, const QString& title, QWidget* right = nullptr) {
  auto* box = new QWidget;
  auto* column = new QVBoxLayout(box);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(6);
  auto* head = new QHBoxLayout;
  head->addWidget(make_label(title, TextStyle::section));
  head->addStretch();
  if (right) head->addWidget(right);
  column->addLayout(head);
  column->addWidget(content, 1);
  return box;
}

}  // namespace

std::vector<HeatToken> heat_tokens(const RequestDetail& detail, bool with_prompt) {
  std::vector<HeatToken> out;
  const TokenizerText* tokenizer = detail.tokenizer.get();
  if (with_prompt) {
    for (const TokenId id : detail.claim.prompt) {
      out.push_back(make_token(tokenizer, id));
      out.back().prompt = true;
    }
    if (!out.empty()) out.back().breaks = true;
  }
  double scale = detail.clip;
  if (scale <= 0 && detail.scores)
    for (const float margin : detail.scores->margin)
      if (std::isfinite(margin)) scale = std::max(scale, static_cast<double>(margin));
  for (std::size_t t = 0; t < detail.claim.output.size(); ++t) {
    HeatToken token = make_token(tokenizer, detail.claim.output[t]);
    token.share = std::numeric_limits<double>::quiet_NaN();
    if (detail.scores && t < detail.scores->size()) {
      const auto flags = detail.scores->flags[t];
      token.share = scale > 0 ? static_cast<double>(detail.scores->margin[t]) / scale : 0.0;
      token.outside = flags & TokenFlag::filtered;
      token.differs = !(flags & (TokenFlag::exact_match | TokenFlag::refused | TokenFlag::no_noise));
    }
    out.push_back(std::move(token));
  }
  return out;
}

RequestPage::RequestPage(const PageContext& page_context, QWidget* parent) : Page(page_context, parent) {
  auto* content = new QWidget(this);
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(20, 16, 20, 16);
  column->setSpacing(4);
  title_ = make_label({}, TextStyle::title);
  column->addWidget(title_);
  facts_ = make_label({}, TextStyle::body);
  facts_->setWordWrap(true);
  set_muted(facts_);
  column->addWidget(facts_);
  column->addSpacing(8);

  text_ = new HeatText;
  legend_ = new HeatLegend;
  with_prompt_ = new QCheckBox(tr("Show &prompt"));
  auto* tools = new QWidget;
  auto* tool_row = new QHBoxLayout(tools);
  tool_row->setContentsMargins(0, 0, 0, 0);
  tool_row->setSpacing(18);
  tool_row->addWidget(legend_);
  tool_row->addWidget(with_prompt_);

  chart_ = new MarginChart;
  chart_->setMinimumHeight(150);

  auto* inspector = new QWidget;
  inspector->setAutoFillBackground(true);
  inspector->setBackgroundRole(QPalette::Base);
  auto* inspector_column = new QVBoxLayout(inspector);
  inspector_column->setContentsMargins(14, 12, 0, 0);
  token_facts_ = make_label({}, TextStyle::body);
  token_facts_->setTextFormat(Qt::RichText);
  inspector_column->addWidget(token_facts_);
  candidates_ = new CandidateModel(this);
  auto* table = new TableView;
  table->set_up(candidates_, tr("Candidates of the reference at this token"));
  table->set_widths({4, 11, 5, 6, 9, 8});
  table->hideColumn(CandidateModel::token_id);  // one click away in the header's menu
  table->setMinimumWidth(300);
  inspector_column->addWidget(table, 1);

  auto* left = new QSplitter(Qt::Vertical);
  left->setChildrenCollapsible(false);
  left->setHandleWidth(14);
  left->addWidget(panel(text_, tr("Output"), tools));
  left->addWidget(panel(chart_, tr("Margin per token")));
  left->setSizes({340, 300});
  left->setStretchFactor(0, 3);
  left->setStretchFactor(1, 2);
  auto* split = new QSplitter(Qt::Horizontal);
  split->setChildrenCollapsible(false);
  split->setHandleWidth(14);
  split->addWidget(left);
  split->addWidget(panel(inspector, tr("Token")));
  split->setSizes({620, 390});
  split->setStretchFactor(0, 5);
  split->setStretchFactor(1, 3);
  column->addWidget(split, 1);

  auto* empty = new EmptyState(QStringLiteral("request"));
  empty->set_text(tr("No request chosen"),
                  tr("Pick one in the Requests table: Enter or a double click opens it here."));
  empty->add_button(tr("Go to Requests"), [this] { context().navigation->go({page_id::requests, 0, 0, -1}); });
  stack_ = new QStackedLayout(this);
  stack_->addWidget(empty);
  stack_->addWidget(content);

  connect(text_, &HeatText::selected_changed, this, [this](int token) {
    if (token >= prompt_shown_) select(token - prompt_shown_);
  });
  connect(text_, &HeatText::hovered, this, [this](int token, const QPoint& at) {
    if (detail_ && token >= prompt_shown_)
      QToolTip::showText(at, MarginChart::describe(*detail_, token - prompt_shown_), text_);
    else
      QToolTip::hideText();
  });
  connect(chart_, &MarginChart::selected_changed, this, &RequestPage::select);
  connect(with_prompt_, &QCheckBox::toggled, this, &RequestPage::show_tokens);
}

void RequestPage::arrive(const Location& location) {
  if (location.request_id != 0 && location.request_id != request_id_) return load(location.request_id, location.token);
  if (location.token >= 0) select(location.token);
  text_->setFocus(Qt::OtherFocusReason);
}

void RequestPage::refresh() {
  if (!context().cases->is_open()) {
    ++generation_;
    request_id_ = 0;
    detail_.reset();
    stack_->setCurrentIndex(0);
  } else if (request_id_ != 0) {
    load(request_id_, position_);
  }
}

void RequestPage::load(std::int64_t request_id, int token) {
  request_id_ = request_id;
  context().cases->load_request(
      this, request_id,
      [this, token, generation = ++generation_](tl::expected<std::shared_ptr<const RequestDetail>, Problem> reply) {
        if (generation != generation_) return;
        if (reply && *reply) return show(*reply, token);
        request_id_ = 0;
        stack_->setCurrentIndex(0);
        if (!reply) context().report(reply.error());
      });
}

void RequestPage::show(std::shared_ptr<const RequestDetail> detail, int token) {
  detail_ = std::move(detail);
  const Claim& claim = detail_->claim;
  title_->setText(tr("%1 · %2").arg(detail_->provider, QString::fromStdString(claim.external_id)));
  QStringList facts{tr("%1 prompt and %2 output tokens")
                        .arg(format_count(static_cast<qint64>(claim.prompt.size())),
                             format_count(static_cast<qint64>(claim.output.size())))};
  facts << (claim.seed ? tr("seed %1").arg(*claim.seed) : tr("no seed"))
        << tr("T = %1").arg(claim.sampling.temperature);
  if (!claim.finish_reason.empty()) facts << tr("finished: %1").arg(QString::fromStdString(claim.finish_reason));
  if (detail_->decision) {
    const RequestDecision& d = *detail_->decision;
    facts << tr("exact match %1").arg(format_percent(d.exact_match)) << tr("p = %1").arg(format_p(d.p_value))
          << tr("q = %1").arg(format_p(d.q_value));
    if (d.flagged) facts << tr("flagged");
  }
  if (claim.ids_origin == IdsOrigin::retokenised) facts << tr("token ids retokenised from text");
  facts_->setText(facts.join(QStringLiteral("  ·  ")));
  legend_->set_clip(detail_->clip);
  chart_->set_detail(detail_);
  position_ = -1;
  show_tokens();
  select(token >= 0 ? token : first_choice());
  stack_->setCurrentIndex(1);
  text_->setFocus(Qt::OtherFocusReason);
}

void RequestPage::show_tokens() {
  if (!detail_) return;
  const int kept = position_;
  prompt_shown_ = with_prompt_->isChecked() ? static_cast<int>(detail_->claim.prompt.size()) : 0;
  text_->set_tokens(heat_tokens(*detail_, prompt_shown_ > 0));
  position_ = -1;
  select(kept);
}

int RequestPage::first_choice() const {
  if (!detail_->scores || detail_->scores->size() == 0) return detail_->claim.output.empty() ? -1 : 0;
  const auto& margin = detail_->scores->margin;
  std::size_t best = 0;
  for (std::size_t t = 0; t < margin.size(); ++t)
    if (!std::isnan(margin[t]) && !(margin[t] <= margin[best])) best = t;
  return static_cast<int>(best);
}

void RequestPage::select(int position) {
  if (!detail_ || position >= static_cast<int>(detail_->claim.output.size()) || position == position_) return;
  position_ = position;
  text_->select(position < 0 ? -1 : position + prompt_shown_);
  chart_->select(position);
  token_facts_->setText(MarginChart::describe(*detail_, position));
  candidates_->set_position(detail_, position);
  if (context().navigation->current().page == page_id::request)
    context().navigation->refine({page_id::request, detail_->claim.provider_id, detail_->claim.id, position});
}

}  // namespace difr::views
