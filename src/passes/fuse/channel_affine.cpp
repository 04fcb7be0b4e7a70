#include "sparsebit/passes/fuse/channel_affine.h"

#include <ATen/ATen.h>

namespace sparsebit::passes {
namespace {

bool is_on(const fx::Value& value) { return value.is_bool() && value.to_bool(); }

/// Statistics or parameters that are tensors of the model, not computed values.
std::optional<at::Tensor> tensor_in(const fx::Value& value) {
  if (!value.is_tensor()) return std::nullopt;
  return value.tensor().detach().to(at::kDouble);
}

}  // namespace

std::optional<ChannelAffine> read_batch_norm(const fx::Args& batch_norm) {
  const std::optional<at::Tensor> mean = tensor_in(batch_norm["running_mean"]);
  const std::optional<at::Tensor> variance = tensor_in(batch_norm["running_var"]);
  const fx::Value &gamma = batch_norm["weight"], &beta = batch_norm["bias"];
  const fx::Value &training = batch_norm["training"], &eps = batch_norm["eps"];
  const bool by_batch = !training.is_bool() || is_on(training) || !mean || !variance;
  const bool computed = gamma.is_node() || beta.is_node() || !eps.is_number();
  if (by_batch || computed) return std::nullopt;
  at::Tensor factor = (*variance + eps.to_double()).rsqrt();
  if (const auto g = tensor_in(gamma)) factor = factor * *g;
  at::Tensor shift = -*mean * factor;
  if (const auto b = tensor_in(beta)) shift = shift + *b;
  const bool trained = beta.is_tensor() && beta.tensor().requires_grad();
  return ChannelAffine{factor, shift, trained};
}

WeightGrid scale_grid(const WeightGrid& grid, const at::Tensor& factor, int64_t lowest,
                      int64_t highest) {
  const at::Tensor per_channel = factor.to(grid.scale.scalar_type());
  const at::Tensor mirrored = lowest + highest - grid.zero_point;
  const at::Tensor scale = grid.scale * per_channel.abs();
  return {at::where(per_channel.eq(0), grid.scale.expand_as(scale), scale),
          at::where(per_channel.lt(0), mirrored, grid.zero_point.expand_as(mirrored))};
}

}  // namespace sparsebit::passes
