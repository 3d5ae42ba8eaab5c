#include "app/workbench/case_service.h"

#include <QDir>
#include <QFileInfo>
#include <algorithm>
#include <cmath>

#include "app/workbench/programs.h"
#include "core/verdict/case_pipeline.h"
#include "core/verdict/decide.h"

namespace difr::workbench {
namespace {

constexpr std::int64_t issues_shown = 200;

std::shared_ptr<const views::CaseOverview> read_overview(const CaseFile& file) {
  auto out = std::make_shared<views::CaseOverview>();
  out->providers = file.providers();
  out->decisions = file.decisions();
  out->sources = file.sources();
  for (const SourceRow& source : out->sources) {
    const auto issues = file.issues_page(source.id, 0, issues_shown);
    out->issues.insert(out->issues.end(), issues.begin(), issues.end());
  }
  out->run = file.latest_run();
  out->decision_options = stored_decision_options(file);
  out->findings = file.findings();
  for (const ProviderDecision& decision : out->decisions) {
    views::ProviderScores scores{decision.provider_id, {}};
    for (const RequestDecision& request : file.request_decisions(decision.provider_id))
      scores.scores.push_back(request.score);
    out->scores.push_back(std::move(scores));
  }
  const auto calibrations = file.calibrations();
  if (!calibrations.empty()) {
    const Calibration& newest = calibrations.back();
    out->calibration_name = QString::fromStdString(newest.name);
    out->calibration_requests = newest.requests();
    out->calibration_tokens = newest.tokens();
    out->clip = newest.clip;
    out->noise_sigma = newest.noise_sigma;
    for (const ProviderDecision& decision : out->decisions)
      if (!decision.statistic.empty() && !out->trusted_scores.contains(decision.statistic))
        out->trusted_scores.emplace(decision.statistic, calibration_request_scores(newest, decision.statistic));
  }
  return out;
}

std::shared_ptr<const views::RequestDetail> read_request(const CaseFile& file, std::int64_t id,
                                                         TokenizerCache& tokenizers, const QString& model_dir) {
  auto claim = file.claim(id);
  if (!claim)
    throw bad_input(file.path().string(), "request " + std::to_string(id) + " does not exist", "reload the case");
  auto out = std::make_shared<views::RequestDetail>();
  out->claim = std::move(*claim);
  const auto provider = file.provider(out->claim.provider_id);
  if (provider) out->provider = QString::fromStdString(provider->config.name);
  std::string sampler;
  for (const ProviderDecision& decision : file.decisions()) {
    if (out->clip == 0 || decision.provider_id == out->claim.provider_id) out->clip = decision.clip;
    if (decision.provider_id == out->claim.provider_id) sampler = decision.sampler;
  }
  if (const auto run = file.latest_run()) {
    out->evidence = file.evidence(run->id, id);
    if (!sampler.empty()) out->scores = file.scores(run->id, id, sampler);
    if (!out->scores) out->scores = file.scores(run->id, id);
  }
  if (const auto summary = file.request_summary(id); summary && !std::isnan(summary->p_value)) {
    RequestDecision decision;
    decision.request_id = id;
    decision.provider_id = summary->provider_id;
    decision.exact_match = summary->exact_match;
    decision.score = summary->mean_margin;
    decision.max_margin = summary->max_margin;
    decision.p_value = summary->p_value;
    decision.q_value = summary->q_value;
    decision.flagged = summary->flagged;
    out->decision = decision;
  }
  const std::string remembered = file.setting("model_dir").value_or(std::string());
  const QString dir = !remembered.empty() ? QString::fromStdString(remembered) : model_dir;
  if (!dir.isEmpty())
    out->tokenizer = tokenizers.get(QDir(dir).filePath(QStringLiteral("tokenizer.json")).toStdString());
  // Before the first recomputation nobody has named a model; the bundled one recognises its own logs.
  if (!out->tokenizer && provider && provider->config.model == demo_model_name)
    out->tokenizer = tokenizers.get(demo_dir().filePath(QStringLiteral("model/tokenizer.json")).toStdString());
  return out;
}

}  // namespace

std::shared_ptr<const TokenizerText> TokenizerCache::get(const std::filesystem::path& file) {
  std::lock_guard lock(mutex_);
  const auto [found, fresh] = known_.try_emplace(file);
  if (fresh) {
    try {
      found->second = std::make_shared<const TokenizerText>(TokenizerText::load(file));
    } catch (const Error&) {
      found->second = nullptr;
    }
  }
  return found->second;
}

CaseService::CaseService(QObject* parent) : CaseSource(parent) {}
CaseService::~CaseService() = default;

void CaseService::open(const QString& path, bool create) {
  const QString absolute = QFileInfo(path).absoluteFilePath();
  const std::filesystem::path file(absolute.toStdString());
  if (create) {
    try {
      // Making an empty file is a few milliseconds, once, on the user's own command.
      (void)CaseFile::open(file, OpenMode::create_or_open);
    } catch (const std::exception& error) {
      emit problem(to_problem(error, absolute));
      return;
    }
  }
  // The first question proves that the file opens; until then the case before stays in view.
  opening_reader_ = std::make_unique<CaseReader>(file);
  opening_reader_->ask<bool>(
      this, [](const CaseFile&) { return true; },
      [this, absolute, file](tl::expected<bool, views::Problem> reply) {
        if (!reply) {
          emit problem(reply.error());
          return;
        }
        quick_ = std::move(opening_reader_);
        slow_ = std::make_unique<CaseReader>(file);
        writer_.reset();
        overview_.reset();
        path_ = absolute;
        open_ = true;
        emit opened();
      });
}

void CaseService::close() {
  opening_reader_.reset();
  quick_.reset();
  slow_.reset();
  writer_.reset();
  overview_.reset();
  path_.clear();
  if (std::exchange(open_, false)) emit closed();
}

void CaseService::load_overview(QObject* context, views::Reply<std::shared_ptr<const views::CaseOverview>> reply) {
  if (!open_) return;
  if (overview_) {
    QMetaObject::invokeMethod(
        this,
        [context = QPointer<QObject>(context), reply, overview = overview_] {
          if (context) reply(overview);
        },
        Qt::QueuedConnection);
    return;
  }
  slow_->ask<std::shared_ptr<const views::CaseOverview>>(context, read_overview,
                                                         [this, reply = std::move(reply)](auto answer) {
                                                           if (answer) overview_ = *answer;
                                                           reply(std::move(answer));
                                                         });
}

void CaseService::load_page(QObject* context, const RequestQuery& query,
                            views::Reply<std::vector<RequestSummary>> reply) {
  if (open_)
    quick_->ask<std::vector<RequestSummary>>(
        context, [query](const CaseFile& file) { return file.request_page(query); }, std::move(reply));
}

void CaseService::count(QObject* context, const RequestQuery& query, views::Reply<std::int64_t> reply) {
  if (open_)
    slow_->ask<std::int64_t>(
        context, [query](const CaseFile& file) { return file.request_count(query); }, std::move(reply));
}

void CaseService::load_request(QObject* context, std::int64_t id,
                               views::Reply<std::shared_ptr<const views::RequestDetail>> reply) {
  if (!open_) return;
  quick_->ask<std::shared_ptr<const views::RequestDetail>>(
      context,
      [id, tokenizers = tokenizers_, dir = model_dir_](const CaseFile& file) {
        return read_request(file, id, *tokenizers, dir);
      },
      std::move(reply));
}

CaseReader& CaseService::writer() {
  if (!writer_) writer_ = std::make_unique<CaseReader>(path_.toStdString(), OpenMode::read_write);
  return *writer_;
}

void CaseService::add_finding(QObject* context, const Finding& finding, views::Reply<std::int64_t> reply) {
  if (!open_) return;
  writer().ask<std::int64_t>(
      context, [finding](CaseFile& file) { return file.add_finding(finding); },
      [this, reply = std::move(reply)](auto answer) {
        if (answer) announce_change();
        reply(std::move(answer));
      });
}

void CaseService::remove_finding(QObject* context, std::int64_t finding_id, views::Reply<bool> reply) {
  if (!open_) return;
  writer().ask<bool>(
      context,
      [finding_id](CaseFile& file) {
        file.remove_finding(finding_id);
        return true;
      },
      [this, reply = std::move(reply)](auto answer) {
        if (answer) announce_change();
        reply(std::move(answer));
      });
}

void CaseService::announce_change() {
  overview_.reset();
  if (open_) emit changed();
}

}  // namespace difr::workbench
