#pragma once

#include "frontends/onnx/conversion.h"

#include <optional>

namespace sparsebit::frontends {

/// The element type of a converted node's result, as far as ONNX's own table of operators tells it
/// from the types of the inputs. For values whose shape is not known; where it is, infer_outputs()
/// tells the type as well.
std::optional<at::ScalarType> infer_dtype(const Conversion& c, size_t output);

}  // namespace sparsebit::frontends
