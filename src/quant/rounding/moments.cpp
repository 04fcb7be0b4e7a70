#include "quant/rounding/moments.h"

#include <ATen/ATen.h>

namespace sparsebit::quant {
namespace {

void add_to(at::Tensor& sum, const at::Tensor& more) {
  if (!more.defined()) return;
  sum = sum.defined() ? sum.add_(more) : more.clone();
}

at::Tensor products_of(const at::Tensor& a, const at::Tensor& b) {
  return a.unsqueeze(2) * b.unsqueeze(1);
}

at::Tensor squared(const at::Tensor& matrices) { return matrices.square().sum({1, 2}); }

at::Tensor squared_off_diagonal(const at::Tensor& matrices) {
  return squared(matrices) - matrices.diagonal(0, 1, 2).square().sum(1);
}

/// The variance of the mean of `samples` matrices, relative to `size`, the squares of their mean.
at::Tensor chance(const at::Tensor& sum_of_squares, const at::Tensor& squares_of_mean,
                  int64_t samples, const at::Tensor& size) {
  if (samples < 2) return at::ones_like(size);
  const at::Tensor variance = (sum_of_squares / samples - squares_of_mean) / (samples - 1);
  return at::where(size.gt(0), variance / size, at::zeros_like(size)).clamp(0, 1);
}

}  // namespace

void Moments::add(const Moments& other) {
  add_to(products, other.products);
  add_to(sums, other.sums);
  add_to(drift_products, other.drift_products);
  add_to(drift_sums, other.drift_sums);
  count += other.count;
  add_to(squares, other.squares);
  add_to(drift_squares, other.drift_squares);
  samples += other.samples;
}

at::Tensor Moments::covariance() const { return second() - products_of(mean(), mean()); }

at::Tensor Moments::drift_covariance() const {
  return drift_products / count - products_of(drift_mean(), mean());
}

at::Tensor Moments::chance_in(const at::Tensor& gram) const {
  return chance(squares, squared_off_diagonal(second()), samples, squared_off_diagonal(gram));
}

at::Tensor Moments::chance_in_drift(const at::Tensor& drift) const {
  return chance(drift_squares, squared(drift_second()), samples, squared(drift));
}

/// Products in float32 of the deviations from the mean, the rest in float64: inputs that hardly
/// vary around a large mean would lose their variance otherwise.
Moments moments_of(const at::Tensor& rows, const at::Tensor& float_rows) {
  Moments moments{.count = rows.size(1), .samples = 1};
  moments.sums = rows.sum(1, /*keepdim=*/false, at::kDouble);
  const at::Tensor subtracted = moments.mean().to(rows.scalar_type());
  const at::Tensor deviations = rows - subtracted.unsqueeze(1);
  const at::Tensor mean = subtracted.to(at::kDouble);
  const auto products = [&](const at::Tensor& x) {
    return at::bmm(x.transpose(1, 2), deviations).to(at::kDouble);
  };
  const at::Tensor rest = moments.sums - mean * moments.count;  // mean is rounded to float32
  moments.products =
      products(deviations) + products_of(mean, moments.sums) + products_of(rest, mean);
  moments.squares = squared_off_diagonal(moments.second());
  if (!float_rows.defined()) return moments;
  const at::Tensor drift = float_rows - rows;
  moments.drift_sums = drift.sum(1, /*keepdim=*/false, at::kDouble);
  moments.drift_products = products(drift) + products_of(moments.drift_sums, mean);
  moments.drift_squares = squared(moments.drift_second());
  return moments;
}

}  // namespace sparsebit::quant
