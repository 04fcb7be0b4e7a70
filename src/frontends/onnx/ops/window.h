#pragma once

#include "frontends/onnx/conversion.h"

namespace sparsebit::frontends {

/// The sliding window: attributes that convolutions and poolings share, one entry per spatial axis.
struct Window {
  std::vector<int64_t> stride, dilation;
  std::vector<int64_t> begin, end;  ///< padding before and after

  bool is_symmetric() const { return begin == end; }
  /// From the first to the last element under a kernel along axis i.
  int64_t reach(const std::vector<int64_t>& kernel, size_t i) const {
    return (kernel[i] - 1) * dilation[i] + 1;
  }
};

enum class Direction { Forward, Backward };  ///< Backward: a transposed convolution

/// The kernel's size from `kernel_shape` or from the weight.
std::vector<int64_t> kernel_of(const Conversion& c, size_t weight_input, int64_t spatial);

/// Reads strides, dilations, pads and auto_pad. Refuses SAME padding of unknown sizes.
Window read_window(const Conversion& c, int64_t spatial, const std::vector<int64_t>& kernel,
                   Direction direction = Direction::Forward);

/// Whether SAME padding depends on unknown sizes of the input.
bool same_padding_is_open(const Conversion& c, int64_t spatial);

/// The first input with SAME padding, computed from its sizes when the model runs.
fx::Value pad_to_same(Conversion& c, const Window& window, const std::vector<int64_t>& kernel);

/// `x` with the window's padding around its last axes; negative padding crops.
fx::Value pad_spatially(Conversion& c, const fx::Value& x, const Window& window, double value);

/// Derives the padding of a transposed convolution from `output_shape` or SAME padding.
void resolve_output_shape(const Conversion& c, Window& window, const std::vector<int64_t>& kernel,
                          std::vector<int64_t>& output_padding);

}  // namespace sparsebit::frontends
