#include "quant/rounding/moments.h"

#include <ATen/ATen.h>

namespace sparsebit::quant {
namespace {

void add_to(at::Tensor& sum, const at::Tensor& more) {
  if (!more.defined()) return;
  sum = sum.defined() ? sum.add_(more) : more.clone();
}

at::Tensor squared(const at::Tensor& matrices) { return matrices.square().sum({1, 2}); }

at::Tensor squared_off_diagonal(const at::Tensor& matrices) {
  return squared(matrices) - matrices.diagonal(0, 1, 2).square().sum(1);
}

/// The variance of the mean of matrices, one per sample, relative to `size`.
/// @param mean_of_squares, squares_of_mean  of the matrices, for each group
at::Tensor share_of_noise(const at::Tensor& mean_of_squares, const at::Tensor& squares_of_mean,
                          int64_t samples, const at::Tensor& size) {
  if (samples < 2) return at::ones_like(size);
  const at::Tensor variance = (mean_of_squares - squares_of_mean) / (samples - 1);
  return at::where(size.gt(0), variance / size, at::zeros_like(size)).clamp(0, 1);
}

}  // namespace

at::Tensor outer_product(const at::Tensor& a, const at::Tensor& b) {
  return a.unsqueeze(2) * b.unsqueeze(1);
}

void Moments::add(const Moments& other) {
  if (!pivot.defined()) pivot = other.pivot;
  add_to(products, other.products);
  add_to(sums, other.sums);
  add_to(drift_products, other.drift_products);
  add_to(drift_sums, other.drift_sums);
  add_to(squares, other.squares);
  add_to(drift_squares, other.drift_squares);
  count += other.count;
  samples += other.samples;
}

at::Tensor Moments::covariance() const { return second() - outer_product(mean(), mean()); }

at::Tensor Moments::drift_covariance() const {
  return drift_products / count - outer_product(drift_mean(), mean());
}

/// Products of deviations from the pivot follow from the covariance and the mean's deviation.
at::Tensor Moments::noise_share() const {
  const at::Tensor away = mean() - pivot.to(at::kDouble), covariances = covariance();
  return share_of_noise(squares / count,
                        squared_off_diagonal(covariances + outer_product(away, away)), samples,
                        squared_off_diagonal(covariances));
}

at::Tensor Moments::drift_noise_share() const {
  const at::Tensor away = mean() - pivot.to(at::kDouble), covariances = drift_covariance();
  return share_of_noise(drift_squares / count,
                        squared(covariances + outer_product(drift_mean(), away)), samples,
                        squared(covariances));
}

/// Products in float32 of the deviations from the pivot, the rest in float64: inputs that hardly
/// vary around a large mean would lose their variance otherwise.
Moments moments_of(const at::Tensor& rows, const at::Tensor& float_rows, const at::Tensor& pivot) {
  Moments moments{.count = rows.size(1), .samples = 1};
  const auto positions = static_cast<double>(moments.count);
  moments.sums = rows.sum(1, /*keepdim=*/false, at::kDouble);
  moments.pivot = pivot.defined() ? pivot : moments.mean().to(at::kFloat);
  const at::Tensor deviations = rows - moments.pivot.unsqueeze(1);
  const at::Tensor center = moments.pivot.to(at::kDouble);
  const auto products = [&](const at::Tensor& x) {
    return at::bmm(x.transpose(1, 2), deviations).to(at::kDouble);
  };
  const at::Tensor own = products(deviations), rest = moments.sums - center * positions;
  moments.products = own + outer_product(center, moments.sums) + outer_product(rest, center);
  moments.squares = squared_off_diagonal(own / positions) * positions;
  if (!float_rows.defined()) return moments;
  const at::Tensor drift = float_rows - rows, of_drift = products(drift);
  moments.drift_sums = drift.sum(1, /*keepdim=*/false, at::kDouble);
  moments.drift_products = of_drift + outer_product(moments.drift_sums, center);
  moments.drift_squares = squared(of_drift / positions) * positions;
  return moments;
}

}  // namespace sparsebit::quant
