#pragma once
// top-k, top-p and min-p as cuts in the logit, with the width in which honest noise and ties may move them
// (derivation: docs/sampling.md).

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace difr {

enum class FilterStage : std::uint8_t { min_p, top_k, top_p };

/// Neutral values mean off. Stages apply in order, each on the survivors of those before.
struct FilterPlan {
  double temperature = 1.0;  ///< at which probabilities for top-p and min-p are taken
  double top_p = 1.0;
  int top_k = 0;
  double min_p = 0.0;
  bool top_k_keeps_ties = true;
  std::array<FilterStage, 3> stages{FilterStage::min_p, FilterStage::top_k, FilterStage::top_p};

  [[nodiscard]] bool active() const { return top_p < 1.0 || top_k > 0 || min_p > 0.0; }
};

struct FilterTolerance {
  double sigma = 0.0;  ///< honest noise per logit
  double z = 4.0;      ///< standard deviations
  bool bf16 = false;   ///< engine logits are rounded to bf16: one spacing at the cut counts as a tie

  /// Logit distance at which an entry next to a cut at logit `at` may honestly fall on the other side.
  [[nodiscard]] double logits(double at) const;
};

/// The head of a row: processed logits in descending order, and what is known of the rest of the row. It may also be a
/// window further down, with what lies above it; then `top` is the row's largest value.
struct RowHead {
  std::span<const double> values;  ///< finite, descending, not empty
  std::size_t rest_count = 0;      ///< entries not in `values`; each <= values.back()
  double rest_mass = 0.0;          ///< sum over the rest of exp((x - values[0]) / temperature)
  double rest_square = 0.0;        ///< the same with squares
  std::size_t above_count = 0;     ///< entries above the window; each > values[0]
  double above_mass = 0.0, above_square = 0.0;
  double top = 0.0;  ///< used only when above_count > 0

  [[nodiscard]] double largest() const { return above_count > 0 ? top : values[0]; }
};

/// The claimed token as the filters see it.
struct ClaimedEntry {
  double value = 0.0;                ///< processed logit; -inf when masked
  std::optional<double> mass_above;  ///< of strictly larger entries in units of exp((x - values[0]) / temperature);
                                     ///< needed only when `value` lies below the head
};

enum class Membership : std::uint8_t { inside, edge, outside };

struct FilterCut {
  double keep_min =
      -std::numeric_limits<double>::infinity();  ///< entries at or above are kept, ties at a top-p cut included
  double sure_min =
      -std::numeric_limits<double>::infinity();  ///< entries at or above are kept whatever the honest noise
  Membership claimed = Membership::inside;
  double distance = 0.0;    ///< claimed entry to the cut, logits; 0 when inside
  bool needs_more = false;  ///< the head is too short to place the cut: it lies among the rest
};

[[nodiscard]] FilterCut cut_row(const FilterPlan& plan, const FilterTolerance& tolerance, const RowHead& head,
                                const ClaimedEntry& claimed);

}  // namespace difr
