// The sections that are the same in every report, but for the parameters: how it was done, and what it does not show.

#include <fmt/format.h>

#include <algorithm>

#include "core/report/document.h"
#include "core/report/text.h"

namespace difr::report {

void add_method(Document& document, const ReportModel& model) {
  const auto& p = model.parameters;
  document.add(Heading{1, "method", "Method"});
  document.add(
      Paragraph{"Language models draw their words with random numbers. When the provider logs the seed, those numbers "
                "are known: given the prompt, the weights, the "
                "sampling settings and the seed, an honest engine must produce one particular token at each position, "
                "but for rounding noise. The reference computes "
                "the model's scores (logits) at every position of the logged output and adds the same seeded noise."});
  document.add(List{{
      {"Margin.",
       "For output position t with logits z, processing F (penalties, bias, filters), temperature T, seeded Gumbel "
       "noise g and logged token y: margin = T · (max over v of [F(z/T)(v) "
       "+ g(v)] − [F(z/T)(y) + g(y)]). It is 0 when the reference would have picked the logged token, and grows with "
       "the change in logits needed to explain it. At "
       "temperature 0 it is max z − z(y). Margins are in logits."},
      {"Mean clipped margin.",
       fmt::format("A request's score is the mean of min(margin, Δ) over its tokens; a provider's pools all its "
                   "tokens. Δ is the {} quantile of the trusted margins, so that a few "
                   "wild tokens cannot decide alone.",
                   setting(p.clip_quantile))},
      {"Filters.",
       "Engines round their logits, so that ties at a top-k or top-p cut are frequent and which tied token survives is "
       "chance. A token outside the filter by no more than the "
       "calibrated noise is scored as admitted and counted as an edge token; beyond that its margin is infinite and "
       "enters at Δ."},
      {"Other sampling than the calibration's.",
       fmt::format("Where the declared sampling differs from that of the trusted runs, margins are divided by what the "
                   "calibrated honest noise predicts at each position; the ratio may exceed that of the trusted "
                   "runs by {} before it counts.",
                   setting(100 * p.transfer_tolerance) + " %")},
      {"Requests.",
       fmt::format("A request's p-value is its rank among the trusted requests: (1 + number of trusted scores at least "
                   "as large) / (n + 1). It needs no assumption on the shape of the noise, only that "
                   "honest requests would score like trusted ones. Many requests are tested at once: flags control the "
                   "expected share of false ones at {} (Benjamini–Hochberg).",
                   setting(100 * p.request_alpha) + " %")},
      {"Providers.",
       fmt::format("A provider's p-value is from a permutation test with requests as units: how often would a random "
                   "division of the trusted and the audited requests show as large a difference? ({} "
                   "resamplings or more, seed {}.) The threshold is what honest runs of the same size exceed in a "
                   "share {} of cases.",
                   count(static_cast<std::size_t>(std::max(0, p.resamples))), p.seed, setting(p.alpha))},
      {"Signed-gap likelihood ratio.",
       "A second statistic compares the signed distance to the runner-up under the honest noise with a wider and "
       "slightly corrupted one. It is more sensitive to small "
       "changes, and is reported beside the first."},
      {"Cross-entropy.",
       "Shown for completeness: how surprising the tokens are to the reference. It needs no seed, and can be fooled by "
       "tuning the temperature."},
  }});
  document.add(Heading{2, "words", "What the verdict words mean"});
  document.add(List{{
      {"● Pass:",
       "no more mismatch than the trusted runs show, in data that could have supported a fail. It is not a certificate "
       "that the provider is honest."},
      {"◆ Fail:", fmt::format("the score exceeds the threshold and the p-value is at most {}: honest runs would do "
                              "that in no more than that share of cases. It is not a statement about cause or intent.",
                              setting(p.alpha))},
      {"■ Undetermined:",
       "the data cannot support either: too few requests, a calibration that does not fit the declared sampling, "
       "missing seeds, or token ids that were reconstructed from text."},
  }});
}

void add_limits(Document& document, const ReportModel& model) {
  document.add(Heading{1, "limits", "What this does not show"});
  document.add(Paragraph{"A reader should know the following before acting on this report."});
  List list;
  list.items = {
      {"Not a cause, and not intent.",
       "A mismatch can come from cheaper weights, another sampler, a software fault, a wrong entry in the log or a "
       "mistake in the declaration. The evidence here does not tell "
       "evasion from error."},
      {"Nothing about requests outside the sample.",
       "A provider that treats logged or audited requests differently from others is not caught by looking at the "
       "logged ones. That takes a sample drawn "
       "after the answers were committed to."},
      {"Nothing about whether the logs are genuine.",
       "The hashes show that the sources have not changed since import. They do not show that the provider's log is a "
       "true record of what its users received."},
      {"The calibration is assumed to be honest and alike.",
       "Thresholds and p-values hold if honest runs of this provider would score like the trusted runs: the same "
       "engine, sampling, prompt lengths "
       "and hardware family. If the trusted runs were not honest, small cheats would pass."},
      {"Hardware that was not calibrated.",
       "Other accelerators, kernels, batch sizes and parallel layouts change rounding. An honest provider on an "
       "unlisted kind of hardware can score higher than the "
       "calibration, and a fail on such hardware has to be checked with a calibration made there."},
      {"Changes below the detection limit.",
       "A change of weights or arithmetic so small that its effect drowns in honest rounding noise (for example some "
       "8-bit weights) can pass. More "
       "tokens and a more precise reference lower the limit; they do not remove it."},
      {"The sampling check rests on the declared seed.",
       "It presumes that the seed, the sampler and its version are what the log says. Where the seed is missing or "
       "ignored, only weaker checks remain. "
       "A provider that picks among seeds can steer outputs without showing it here."},
      {"A pass is absence of evidence.",
       "It says that this sample, with this calibration, showed no difference. Its weight grows with the number of "
       "tokens behind it."},
      {"Chance.", fmt::format("With a promised false-alarm rate of {} per provider, an honest one fails now and then "
                              "if very many are tested.",
                              setting(model.parameters.alpha))},
  };
  document.add(std::move(list));
}

}  // namespace difr::report
