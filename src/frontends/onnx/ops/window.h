#pragma once

#include "frontends/onnx/conversion.h"

namespace sparsebit::frontends {

/// How a kernel slides: the attributes that convolutions and poolings share, one entry per axis.
struct Window {
  std::vector<int64_t> stride, dilation;
  std::vector<int64_t> begin, end;  ///< padding before and after

  bool is_symmetric() const { return begin == end; }
};

enum class Direction { Forward, Backward };  ///< Backward: a transposed convolution

/// The kernel's size from `kernel_shape` or from the weight.
std::vector<int64_t> kernel_of(const Conversion& c, size_t weight_input, int64_t spatial);

/// Reads strides, dilations, pads and auto_pad. Refuses SAME padding of sizes that are not known.
Window read_window(const Conversion& c, int64_t spatial, const std::vector<int64_t>& kernel,
                   Direction direction = Direction::Forward);

/// `x` with the window's padding around its last axes; negative amounts cut off.
fx::Value pad_spatially(Conversion& c, const fx::Value& x, const Window& window, double value);

/// Lets `output_shape` and SAME padding of a transposed convolution decide its padding.
void resolve_output_shape(const Conversion& c, Window& window, const std::vector<int64_t>& kernel,
                          std::vector<int64_t>& output_padding);

}  // namespace sparsebit::frontends
