#include "core/fingerprint/projection.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/fingerprint/torch_randn.h"
#include "core/util/error.h"

namespace difr {

namespace {

/// Orthonormalises the k columns of a d×k matrix into k rows of length d by modified Gram-Schmidt, twice: that is the Q
/// of the unique factorisation with a positive diagonal of R, orthogonal to machine precision.
std::vector<double> orthonormal_rows(const std::vector<double>& matrix, std::size_t d, std::size_t k) {
  std::vector<double> rows(k * d);
  for (std::size_t i = 0; i < k; ++i) {
    double* const row = rows.data() + i * d;
    for (std::size_t j = 0; j < d; ++j) row[j] = matrix[j * k + i];
    for (int pass = 0; pass < 2; ++pass)
      for (std::size_t before = 0; before < i; ++before) {
        const double* const other = rows.data() + before * d;
        double overlap = 0;
        for (std::size_t j = 0; j < d; ++j) overlap += other[j] * row[j];
        for (std::size_t j = 0; j < d; ++j) row[j] -= overlap * other[j];
      }
    double norm = 0;
    for (std::size_t j = 0; j < d; ++j) norm += row[j] * row[j];
    norm = std::sqrt(norm);
    for (std::size_t j = 0; j < d; ++j) row[j] /= norm;
  }
  return rows;
}

/// Signs of diag R as Householder reflections leave them: each is opposite to the entry it replaces (LAPACK dlarfg),
/// but for the last one of a square matrix, which no reflection touches.
std::vector<double> householder_signs(std::vector<double> matrix, std::size_t d, std::size_t k) {
  std::vector<double> signs(k, 1.0);
  std::vector<double> reflector(d);
  for (std::size_t i = 0; i < k; ++i) {
    double norm = 0;
    for (std::size_t j = i; j < d; ++j) {
      reflector[j] = matrix[j * k + i];
      norm += reflector[j] * reflector[j];
    }
    norm = std::sqrt(norm);
    if (i + 1 == d) {
      signs[i] = std::copysign(1.0, reflector[i]);
      break;
    }
    signs[i] = -std::copysign(1.0, reflector[i]);
    reflector[i] -= signs[i] * norm;
    double square = 0;
    for (std::size_t j = i; j < d; ++j) square += reflector[j] * reflector[j];
    for (std::size_t column = i + 1; column < k; ++column) {
      double product = 0;
      for (std::size_t j = i; j < d; ++j) product += reflector[j] * matrix[j * k + column];
      for (std::size_t j = i; j < d; ++j) matrix[j * k + column] -= 2 * product / square * reflector[j];
    }
  }
  return signs;
}

template <typename T>
std::vector<T> as_d_by_k(std::vector<T> draws, std::size_t d, std::size_t k, DrawOrder order) {
  if (order == DrawOrder::d_by_k) return draws;
  std::vector<T> transposed(draws.size());
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t j = 0; j < d; ++j) transposed[j * k + i] = draws[i * d + j];
  return transposed;
}

}  // namespace

const char* to_string(ProjectionKind kind) {
  return kind == ProjectionKind::orthogonal ? "orthogonal" : "gaussian";
}

std::optional<ProjectionKind> parse_projection_kind(std::string_view name) {
  if (name == "orthogonal") return ProjectionKind::orthogonal;
  if (name == "gaussian") return ProjectionKind::gaussian;
  return std::nullopt;
}

Projection Projection::make(const ProjectionSpec& spec) {
  constexpr int kLargest = 1 << 20;
  if (spec.k < 1 || spec.d < 1 || spec.k > kLargest || spec.d > kLargest ||
      (spec.kind == ProjectionKind::orthogonal && spec.k > spec.d))
    throw Error(
        ExitCode::usage, "projection",
        fmt::format("k = {} and hidden size {} do not make a {} projection", spec.k, spec.d, to_string(spec.kind)),
        "k is at least 1 and at most the hidden size");
  const auto k = static_cast<std::size_t>(spec.k);
  const auto d = static_cast<std::size_t>(spec.d);
  std::vector<float> rows(k * d);
  if (spec.kind == ProjectionKind::gaussian) {
    const auto draws = as_d_by_k(torch_randn_fp32(spec.seed, k * d), d, k, spec.order);
    const double scale = std::sqrt(static_cast<double>(k));
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t j = 0; j < d; ++j) rows[i * d + j] = static_cast<float>(draws[j * k + i] / scale);
  } else {
    const auto draws = as_d_by_k(torch_randn_fp64(spec.seed, k * d), d, k, spec.order);
    const auto orthonormal = orthonormal_rows(draws, d, k);
    const auto signs = spec.signs == RowSigns::lapack ? householder_signs(draws, d, k) : std::vector<double>(k, 1.0);
    const double scale = std::sqrt(static_cast<double>(d) / static_cast<double>(k));
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(orthonormal[i] * (scale * signs[i / d]));
  }
  return {std::move(rows), spec.k, spec.d};
}

Projection Projection::from_matrix(std::vector<float> rows, int k, int d, const std::string& where) {
  if (k < 1 || d < 1 || rows.size() != static_cast<std::size_t>(k) * static_cast<std::size_t>(d))
    throw bad_input(where, fmt::format("{} values do not make a {} x {} projection", rows.size(), k, d));
  if (!std::all_of(rows.begin(), rows.end(), [](float value) { return std::isfinite(value); }))
    throw bad_input(where, "the projection holds a value that is not finite");
  return {std::move(rows), k, d};
}

std::vector<float> Projection::apply(std::span<const float> hidden) const {
  const auto d = static_cast<std::size_t>(d_);
  if (hidden.size() % d != 0)
    throw Error(ExitCode::usage, "projection",
                fmt::format("{} values are not rows of hidden size {}", hidden.size(), d_));
  std::vector<float> prints;
  prints.reserve(hidden.size() / d * static_cast<std::size_t>(k_));
  for (std::size_t begin = 0; begin < hidden.size(); begin += d)
    for (int i = 0; i < k_; ++i) {
      const std::span<const float> weights = row(i);
      double sum = 0;
      for (std::size_t j = 0; j < d; ++j)
        sum += static_cast<double>(weights[j]) * static_cast<double>(hidden[begin + j]);
      prints.push_back(static_cast<float>(sum));
    }
  return prints;
}

std::vector<double> fingerprint_distances(std::span<const float> claimed, std::span<const float> reference, int k) {
  if (k < 1 || claimed.size() != reference.size() || claimed.size() % static_cast<std::size_t>(k) != 0)
    throw bad_input(
        "fingerprints",
        fmt::format("{} claimed values against {} of the reference with k = {}", claimed.size(), reference.size(), k),
        "both sides need k values for each output token");
  const auto width = static_cast<std::size_t>(k);
  std::vector<double> distances;
  distances.reserve(claimed.size() / width);
  for (std::size_t begin = 0; begin < claimed.size(); begin += width) {
    double sum = 0;
    for (std::size_t i = begin; i < begin + width; ++i) {
      const double difference = static_cast<double>(claimed[i]) - static_cast<double>(reference[i]);
      sum += difference * difference;
    }
    distances.push_back(std::sqrt(sum));
  }
  return distances;
}

}  // namespace difr
