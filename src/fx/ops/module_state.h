#pragma once

#include "sparsebit/fx/ops/operator.h"

#include <optional>

namespace sparsebit::fx {

using MaybeGenerator = c10::optional<at::Generator>;

// Parameters of new modules, filled as torch.nn fills them, with requires_grad set.

/// Samples of U(-bound, bound).
at::Tensor uniform_parameter(at::IntArrayRef shape, double bound, const MaybeGenerator& generator);
at::Tensor constant_parameter(at::IntArrayRef shape, double value);

/// `weight` and `bias` of linear and convolution layers: Kaiming's uniform rule with a = sqrt(5).
///
/// @param shape      of the weight; everything after the first axis counts as fan-in.
/// @param bias_size  none leaves `bias` undefined.
TensorList weight_and_bias(at::IntArrayRef shape, std::optional<int64_t> bias_size,
                           const MaybeGenerator& generator);

/// `weight` = 1 and `bias` = 0 of normalization layers, both undefined unless `affine`.
TensorList scale_and_shift(at::IntArrayRef shape, bool affine);

}  // namespace sparsebit::fx
