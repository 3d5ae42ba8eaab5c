#pragma once
// The shared projection P of Activation-DiFR: fingerprint f = P h of a final-norm hidden state h (DESIGN §3).

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace difr {

enum class ProjectionKind : std::uint8_t {
  orthogonal,  ///< rows orthonormal, scaled √(d/k): Q of the QR factorisation of torch.randn(d, k, float64)
  gaussian,    ///< the public code's torch.randn(d, k, float32) / √k
};
[[nodiscard]] const char* to_string(ProjectionKind kind);
[[nodiscard]] std::optional<ProjectionKind> parse_projection_kind(std::string_view name);

/// How the Gaussian's draws fill the matrix: the public code draws (d, k) and multiplies from the right; a provider
/// that draws (k, d) gets another matrix from the same seed.
enum class DrawOrder : std::uint8_t { d_by_k, k_by_d };

/// A QR factorisation is unique up to the signs of Q's columns: with all of diag R positive, or as Householder routines
/// (LAPACK, so numpy and torch) leave them. Of no matter for distances as long as both sides have the same.
enum class RowSigns : std::uint8_t { positive_diagonal, lapack };

struct ProjectionSpec {
  ProjectionKind kind = ProjectionKind::orthogonal;
  std::uint64_t seed = 42;  ///< torch's CPU generator uses its low 32 bits
  int k = 8;
  int d = 0;  ///< hidden size
  DrawOrder order = DrawOrder::d_by_k;
  RowSigns signs = RowSigns::positive_diagonal;  ///< of orthogonal rows
};

class Projection {
 public:
  /// Throws difr::Error (usage) unless 1 <= k and 1 <= d, with k <= d for orthogonal rows.
  static Projection make(const ProjectionSpec& spec);
  /// A given k×d matrix, row-major, e.g. one that the provider published. Throws difr::Error (bad_input) when the sizes
  /// do not fit or a value is not finite.
  static Projection from_matrix(std::vector<float> rows, int k, int d, const std::string& where);

  [[nodiscard]] int k() const { return k_; }
  [[nodiscard]] int d() const { return d_; }
  [[nodiscard]] std::span<const float> row(int i) const {
    return std::span(rows_).subspan(static_cast<std::size_t>(i) * static_cast<std::size_t>(d_),
                                    static_cast<std::size_t>(d_));
  }
  /// Hidden states n×d to fingerprints n×k; products summed in fp64. Throws difr::Error (usage) when hidden.size() is
  /// not a multiple of d.
  [[nodiscard]] std::vector<float> apply(std::span<const float> hidden) const;

 private:
  Projection(std::vector<float> rows, int k, int d) : rows_(std::move(rows)), k_(k), d_(d) {}
  std::vector<float> rows_;
  int k_;
  int d_;
};

/// ‖f_claimed − f_reference‖₂ per token of n×k arrays; NaN where either holds one. Throws difr::Error (bad_input) when
/// the arrays differ in size or k does not divide it.
[[nodiscard]] std::vector<double> fingerprint_distances(std::span<const float> claimed,
                                                        std::span<const float> reference, int k);

}  // namespace difr
