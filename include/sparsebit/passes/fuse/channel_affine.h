#pragma once

#include "sparsebit/fx/ops/schema.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace sparsebit::passes {

/// What a batch norm with fixed statistics does to each channel: x * factor + shift. In float64.
struct ChannelAffine {
  at::Tensor factor;     ///< gamma / sqrt(variance + eps)
  at::Tensor shift;      ///< beta - mean * factor
  bool trained = false;  ///< the shift has a part that is trained
};

/// Reads a call of batch_norm. Nothing when it normalizes by the statistics of the batch.
/// Missing gamma and beta count as 1 and 0.
std::optional<ChannelAffine> read_batch_norm(const fx::Args& batch_norm);

/// How the integers of a weight are read.
struct WeightGrid {
  at::Tensor scale;       ///< one per output channel, or one for all
  at::Tensor zero_point;  ///< as many
};

/// The grid of a weight whose output channels were multiplied by `factor`, so that each weight has
/// the integer it had before. Where the factor is negative, the scale stays positive and the
/// integers are mirrored: q becomes lowest + highest - q, which is in range again. Where it is 0,
/// so are the weights, and the grid stays as it is.
WeightGrid scale_grid(const WeightGrid& grid, const at::Tensor& factor, int64_t lowest,
                      int64_t highest);

}  // namespace sparsebit::passes
