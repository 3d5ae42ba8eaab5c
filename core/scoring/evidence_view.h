#pragma once
// One position of stored evidence under a claim's processing: what is known of the row, and where the filters cut it.
// Internal to core.

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "core/domain/claim.h"
#include "core/domain/evidence.h"
#include "core/sampling/filter.h"
#include "core/sampling/processing.h"

namespace difr {

struct MassRange {
  double low = 0.0, high = 0.0;
};

/// Sum of exp(d/T) over n entries d <= bound whose sum of exp(d) is `mass`: both ends follow from the power mean
/// inequality and from the bound on each entry.
[[nodiscard]] MassRange mass_at_temperature(double mass, double bound, double n, double temperature);

class EvidenceView {
 public:
  /// `greedy`: no filters, temperature 1. References are kept; positions must be loaded in order 0, 1, ...
  EvidenceView(const Claim& claim, const Evidence& evidence, ProcessingOrder order, bool greedy);

  /// False when the reference row was refused. Advances the penalties' history.
  bool load(std::size_t t);

  /// Candidates: the top M and the claimed token. `x` processed logits, `s` the same over T.
  [[nodiscard]] std::span<const TokenId> ids() const { return ids_; }
  [[nodiscard]] std::span<const float> x() const { return x_; }
  [[nodiscard]] std::span<const float> s() const { return s_; }
  [[nodiscard]] std::size_t claimed() const { return claimed_; }
  [[nodiscard]] double temperature() const { return temperature_; }
  [[nodiscard]] const FilterPlan& plan() const { return plan_; }
  [[nodiscard]] const LogitProcessing& processing() const { return processing_; }

  /// Entries that are not candidates: how many may survive masks, the bound on their processed and on their raw logit.
  [[nodiscard]] std::size_t rest_count() const { return rest_count_; }
  [[nodiscard]] float rest_bound() const { return rest_bound_; }
  [[nodiscard]] float raw_bound() const { return bound_; }
  /// Entries outside the candidates that processing changes, with their own bound.
  [[nodiscard]] std::span<const std::pair<TokenId, float>> touched_outside() const { return touched_outside_; }
  /// Mass of the rest in units of exp((x - top) / temperature).
  [[nodiscard]] MassRange rest_mass(double top, double temperature) const;

  /// The filters' cut under the largest and under the smallest mass the rest can have.
  [[nodiscard]] std::pair<FilterCut, FilterCut> cuts(const FilterTolerance& tolerance) const;

 private:
  const Claim& claim_;
  const Evidence& evidence_;
  LogitProcessing processing_;
  FilterPlan plan_;
  double temperature_ = 1.0;
  std::size_t t_ = 0, emitted_ = 0;
  std::vector<TokenId> ids_;
  std::vector<float> raw_, x_, s_;
  std::vector<std::pair<TokenId, float>> touched_outside_;
  std::size_t claimed_ = 0, rest_count_ = 0;
  float bound_ = 0.0F, rest_bound_ = 0.0F;
};

}  // namespace difr
