#pragma once

#include "sparsebit/fx/ops/schema.h"

#include <string_view>

namespace sparsebit::fx {

/// An element type by its ONNX number (1 = float, 2 = uint8, ...). Throws InvalidArgument for
/// types that libtorch does not have.
at::ScalarType onnx_dtype(const Args& a, std::string_view name);

}  // namespace sparsebit::fx
