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

/// The covariances of the inputs without the share that is noise, positive definite for any inputs:
/// constant or zero, and with fewer positions than inputs.
at::Tensor regularized_covariance(const Moments& moments) {
  const at::Tensor covariance = moments.covariance();
  const at::Tensor noise = moments.noise_share().view({-1, 1, 1});
  const at::Tensor power = moments.second().diagonal(0, 1, 2).mean(1);
  const at::Tensor least = at::where(power.gt(0), power * kUnresolved, at::ones_like(power));
  return damped(covariance * (1 - noise) + at::diag_embed(covariance.diagonal(0, 1, 2)) * noise,
                kDamping, least);
}

/// The share of the means of the inputs that is no noise, 0 to 1 for each group.
at::Tensor share_of_mean(const Moments& moments) {
  const at::Tensor size = moments.mean().square().sum(1);
  if (moments.samples < 2) return at::zeros_like(size).view({-1, 1, 1});
  const at::Tensor variance = moments.covariance().diagonal(0, 1, 2).sum(1) / moments.samples;
  const at::Tensor noise = at::where(size.gt(0), variance / size, at::ones_like(size));
  return (1 - noise).clamp(0, 1).view({-1, 1, 1});
}

}  // namespace

/// The weights W* that reproduce the outputs W t of the float model from the drifted inputs x best:
/// W* = W + W E[(t - x) x^T] E[x x^T]^-1. The error of integers Q is then that of rounding W*.
at::Tensor rounded_to_moments(const at::Tensor& weight, const LayerMatrix& matrix,
                              const Moments& moments, const Quantizer& quantizer,
                              bool bias_follows) {
  const WeightGrid grid = grid_of(weight, matrix, quantizer);
  at::Tensor wanted = matrix.grouped(weight).to(at::kDouble);
  at::Tensor gram = regularized_covariance(moments);
  const at::Tensor mean_share = share_of_mean(moments);
  if (!bias_follows) gram = gram + outer_product(moments.mean(), moments.mean()) * mean_share;
  if (moments.drift_products.defined()) {
    const at::Tensor noise = moments.drift_noise_share().view({-1, 1, 1});
    at::Tensor drift = moments.drift_covariance() * (1 - noise);
    if (!bias_follows)
      drift = drift + outer_product(moments.drift_mean(), moments.mean()) * mean_share;
    const at::Tensor lower = at::linalg_cholesky(gram);
    wanted =
        wanted + at::cholesky_solve(at::bmm(wanted, drift).transpose(1, 2), lower).transpose(1, 2);
  }
  return matrix.ungrouped(nearest_plane(wanted, gram, grid)).to(at::kInt);
}

at::Tensor mean_error(const at::Tensor& weight, const at::Tensor& quantized,
                      const LayerMatrix& matrix, const Moments& moments) {
  const at::Tensor w = matrix.grouped(weight).to(at::kDouble);
  const at::Tensor q = matrix.grouped(quantized).to(at::kDouble);
  at::Tensor error = at::bmm(w - q, moments.mean().unsqueeze(2));
  if (moments.drift_sums.defined()) error = error + at::bmm(w, moments.drift_mean().unsqueeze(2));
  return error.flatten().to(at::kFloat);
}

}  // namespace sparsebit::quant
