#pragma once

#include "sparsebit/fx/ops/schema.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace sparsebit::passes {

/// A batch norm with fixed statistics, per channel: x * factor + shift. In float64.
struct ChannelAffine {
  at::Tensor factor;     ///< gamma / sqrt(variance + eps)
  at::Tensor shift;      ///< beta - mean * factor
  bool trained = false;  ///< the shift contains a trained parameter
};

/// Reads a call of batch_norm. Empty when it normalizes by the statistics of the batch.
/// Missing gamma and beta count as 1 and 0.
std::optional<ChannelAffine> read_batch_norm(const fx::Args& batch_norm);

/// The quantization grid of a weight.
struct WeightGrid {
  at::Tensor scale;       ///< one per output channel, or one for all
  at::Tensor zero_point;  ///< same size as the scale
};

/// The grid of a weight whose output channels were multiplied by `factor`, so that each weight
/// keeps its integer. Where the factor is negative, the scale stays positive and the integers are
/// mirrored: q becomes lowest + highest - q, which is in range again. Where the factor is 0, the
/// weights are 0 and the grid stays unchanged.
WeightGrid scale_grid(const WeightGrid& grid, const at::Tensor& factor, int64_t lowest,
                      int64_t highest);

}  // namespace sparsebit::passes
