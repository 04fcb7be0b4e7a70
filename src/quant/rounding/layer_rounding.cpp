#include "quant/rounding/layer_rounding.h"

#include "quant/rounding/nearest_plane.h"

#include "sparsebit/quant/spec/qparams.h"

#include <ATen/ATen.h>

namespace sparsebit::quant {
namespace {

/// Share of the mean of the diagonal that is added to it, as in GPTQ.
constexpr double kDamping = 0.01;
/// Share of the mean square of the inputs that float32 sums do not resolve.
constexpr double kUnresolved = 1e-6;

/// Scale or zero point of each weight, as [groups, outputs, inputs].
at::Tensor of_each_weight(const at::Tensor& per_scale, const at::Tensor& weight,
                          const LayerMatrix& matrix, const QuantSpec& spec) {
  return matrix.grouped(spread_over(per_scale, weight, spec).expand_as(weight)).to(at::kDouble);
}

WeightGrid grid_of(const at::Tensor& weight, const LayerMatrix& matrix,
                   const Quantizer& quantizer) {
  const QuantSpec& spec = quantizer.spec();
  const QParams found = quantizer.final_qparams();
  return {.scale = of_each_weight(found.scale, weight, matrix, spec),
          .zero_point = of_each_weight(found.zero_point, weight, matrix, spec),
          .qmin = static_cast<double>(spec.qmin()),
          .qmax = static_cast<double>(spec.qmax())};
}

/// The matrix without the share off its diagonal that is chance.
at::Tensor shrunk(const at::Tensor& gram, const Moments& moments) {
  const at::Tensor chance = moments.chance_in(gram).view({-1, 1, 1});
  return gram * (1 - chance) + at::diag_embed(gram.diagonal(0, 1, 2)) * chance;
}

/// The matrix that rounding takes the errors from, positive definite for any inputs: constant or
/// zero, and fewer than there are rows.
at::Tensor usable(const at::Tensor& gram, const Moments& moments) {
  const at::Tensor power = moments.second().diagonal(0, 1, 2).mean(1);
  const at::Tensor least = at::where(power.gt(0), power * kUnresolved, at::ones_like(power));
  return damped(shrunk(gram, moments), kDamping, least);
}

}  // namespace

/// The weights W* that reproduce the outputs W t of the float model from the drifted inputs x best:
/// W* = W + W E[(t - x) x^T] E[x x^T]^-1. The error of integers Q is then that of rounding W*.
at::Tensor rounded_to_moments(const at::Tensor& weight, const LayerMatrix& matrix,
                              const Moments& moments, const Quantizer& quantizer,
                              bool bias_follows) {
  const WeightGrid grid = grid_of(weight, matrix, quantizer);
  at::Tensor wanted = matrix.grouped(weight).to(at::kDouble);
  const at::Tensor gram = usable(bias_follows ? moments.covariance() : moments.second(), moments);
  if (moments.drift_products.defined()) {
    at::Tensor drift = bias_follows ? moments.drift_covariance() : moments.drift_second();
    drift = drift * (1 - moments.chance_in_drift(drift)).view({-1, 1, 1});
    const at::Tensor lower = at::linalg_cholesky(gram);
    wanted =
        wanted + at::cholesky_solve(at::bmm(wanted, drift).transpose(1, 2), lower).transpose(1, 2);
  }
  return matrix.ungrouped(nearest_plane(wanted, gram, grid)).to(at::kInt);
}

at::Tensor mean_error(const at::Tensor& weight, const LayerMatrix& matrix, const Moments& moments,
                      const Quantizer& quantizer) {
  const WeightGrid grid = grid_of(weight, matrix, quantizer);
  const at::Tensor w = matrix.grouped(weight).to(at::kDouble);
  const at::Tensor q = grid.values(matrix.grouped(quantizer.integers(weight)).to(at::kDouble));
  const at::Tensor mean = moments.mean().unsqueeze(2);
  at::Tensor error = at::bmm(w - q, mean);
  if (moments.drift_sums.defined()) error = error + at::bmm(w, moments.drift_mean().unsqueeze(2));
  return error.flatten().to(at::kFloat);
}

}  // namespace sparsebit::quant
