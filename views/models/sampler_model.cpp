#include "views/models/sampler_model.h"

#include <QFont>
#include <QGuiApplication>
#include <algorithm>

#include "views/models/format.h"
#include "views/theme/icons.h"
#include "views/theme/palette.h"

namespace difr::views {
namespace {

/// Verified against an engine's own output; read or emulated; not to be had.
Outcome trust(Verification verification) {
  switch (verification) {
    case Verification::real_logs:
    case Verification::golden_vectors:
      return Outcome::pass;
    case Verification::emulated:
    case Verification::source_only:
      return Outcome::undetermined;
    case Verification::not_reproducible:
      break;
  }
  return Outcome::fail;
}

}  // namespace

QString family_text(SamplerFamily family) {
  switch (family) {
    case SamplerFamily::greedy:
      return SamplerModel::tr("greedy");
    case SamplerFamily::gumbel_max:
      return SamplerModel::tr("Gumbel-max");
    case SamplerFamily::inverse_cdf:
      break;
  }
  return SamplerModel::tr("inverse CDF");
}

QString verification_text(Verification verification) {
  switch (verification) {
    case Verification::real_logs:
      return SamplerModel::tr("real logs");
    case Verification::golden_vectors:
      return SamplerModel::tr("golden vectors");
    case Verification::emulated:
      return SamplerModel::tr("emulated");
    case Verification::source_only:
      return SamplerModel::tr("source reading");
    case Verification::not_reproducible:
      break;
  }
  return SamplerModel::tr("not reproducible");
}

QString order_text(ProcessingOrder order) {
  switch (order) {
    case ProcessingOrder::vllm:
      return SamplerModel::tr("as vLLM: temperature, min-p, top-k, top-p");
    case ProcessingOrder::hugging_face:
      return SamplerModel::tr("as Hugging Face generate");
    case ProcessingOrder::llama_cpp:
      return SamplerModel::tr("as llama.cpp's sampler chain");
    case ProcessingOrder::mlx:
      break;
  }
  return SamplerModel::tr("as MLX: filters before temperature");
}

SamplerModel::SamplerModel(QObject* parent)
    : TableModel({{tr("Profile"), tr("The id that logs, reports and the command line use")},
                  {tr("Sampler"), {}},
                  {tr("Family"), tr("How noise and logits become a token")},
                  {tr("Verification"), tr("What this version's arithmetic was held against")},
                  {tr("Versions"), tr("Engines and versions that sample this way")},
                  {tr("In this case"), tr("Providers that declare it or were scored under it")},
                  {tr("Needs"), tr("What a log must carry for this sampler to be reproduced")},
                  {tr("Missing"), tr("Why it cannot be reproduced, and what would be needed")}},
                 parent) {}

void SamplerModel::set_overview(std::shared_ptr<const CaseOverview> overview) {
  overview_ = std::move(overview);
  emit dataChanged(index(0, 0), index(rows() - 1, column_count - 1));
}

int SamplerModel::rows() const {
  return static_cast<int>(sampler_profiles().size());
}

const SamplerProfile* SamplerModel::at(int row) const {
  return row >= 0 && row < rows() ? &sampler_profiles()[static_cast<std::size_t>(row)] : nullptr;
}

QStringList SamplerModel::users(int row) const {
  QStringList names;
  if (!overview_) return names;
  const std::string_view id = at(row)->id;
  for (const ProviderRow& provider : overview_->providers) {
    const ProviderDecision* decision = overview_->decision_of(provider.id);
    const bool scored = decision && decision->sampler == id;
    // A greedy provider may declare any sampler; none of it is used.
    if (scored || (provider.config.sampler == id && !provider.config.sampling.greedy()))
      names << QString::fromStdString(provider.config.name);
  }
  return names;
}

QVariant SamplerModel::display(int row, int column) const {
  const SamplerProfile& p = *at(row);
  const auto or_dash = [](std::string_view utf8) { return utf8.empty() ? dash() : from_utf8(utf8); };
  switch (column) {
    case profile:
      return from_utf8(p.id);
    case title:
      return from_utf8(p.title);
    case family:
      return family_text(p.family);
    case verification:
      return verification_text(p.verification);
    case versions:
      return or_dash(p.versions);
    case in_case: {
      const QStringList names = users(row);
      if (names.isEmpty()) return dash();
      return names.size() == 1 ? names.front() : tr("%1 providers").arg(names.size());
    }
    case needs:
      return or_dash(p.needs);
    case missing:
      return or_dash(p.missing);
    default:
      return {};
  }
}

QVariant SamplerModel::cell(int row, int column, int role) const {
  const SamplerProfile& p = *at(row);
  switch (role) {
    case Qt::DisplayRole:
      return display(row, column);
    case sort_role:
      if (column == verification) return static_cast<int>(p.verification);
      if (column == in_case) return -static_cast<int>(users(row).size());
      return display(row, column);
    case id_role:
      return from_utf8(p.id);
    case search_role: {
      QStringList all{from_utf8(p.noise), from_utf8(p.alignment), from_utf8(p.verified_by),
                      users(row).join(QLatin1Char(' '))};
      for (int c = 0; c < column_count; ++c) all << display(row, c).toString();
      return all.join(QLatin1Char('\n'));
    }
    case reproducible_role:
      return p.verification != Verification::not_reproducible;
    case Qt::ToolTipRole:
      if (column == in_case && users(row).size() > 1) return users(row).join(QLatin1Char('\n'));
      return display(row, column);
    case Qt::DecorationRole:
      if (column != verification) return {};
      return trust(p.verification) == Outcome::fail ? icon(QStringLiteral("cancel"))
                                                    : verdict_icon(trust(p.verification));
    case Qt::ForegroundRole: {
      const Colours& c = colours(QGuiApplication::palette());
      if (column == in_case && !users(row).isEmpty()) return c.accent;
      return p.verification == Verification::not_reproducible ? QVariant(c.muted) : QVariant();
    }
    case Qt::FontRole:
      if (column == profile && !users(row).isEmpty()) {
        QFont font;
        font.setBold(true);
        return font;
      }
      return {};
    default:
      return {};
  }
}

void SamplerFilter::set_filter(const QString& words, bool reproducible_only) {
  words_ = words.split(QLatin1Char(' '), Qt::SkipEmptyParts);
  reproducible_only_ = reproducible_only;
  invalidateFilter();
}

bool SamplerFilter::filterAcceptsRow(int row, const QModelIndex& parent) const {
  const QModelIndex index = sourceModel()->index(row, 0, parent);
  if (reproducible_only_ && !index.data(SamplerModel::reproducible_role).toBool()) return false;
  const QString all = index.data(SamplerModel::search_role).toString();
  return std::ranges::all_of(words_, [&](const QString& word) { return all.contains(word, Qt::CaseInsensitive); });
}

}  // namespace difr::views
