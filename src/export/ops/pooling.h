#pragma once

#include "export/converter.h"

namespace sparsebit::exports {

/// A window that moves over the last axes of an input.
struct Window {
  std::vector<int64_t> kernel, stride, padding, dilation;
  bool ceil_mode = false;

  size_t axes() const { return kernel.size(); }
};

/// Average pooling of a batched input with torch's results in every mode.
/// @param divisor  0 = the number of elements in the window.
OnnxTensor average_pool(Call& c, const OnnxTensor& x, const Window& window, bool count_include_pad,
                        int64_t divisor = 0);

/// Maxima and, with `with_indices`, their positions within a plane.
std::vector<OnnxTensor> maximum_pool(Call& c, const OnnxTensor& x, const Window& window,
                                     bool with_indices);

/// Means over `size` nearly equal parts of each spatial axis; -1 keeps an axis.
OnnxTensor adaptive_average(Call& c, const OnnxTensor& x, const std::vector<int64_t>& size);

}  // namespace sparsebit::exports
