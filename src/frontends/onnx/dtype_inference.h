#pragma once

#include "frontends/onnx/conversion.h"

#include <optional>

namespace sparsebit::frontends {

/// The element type of a converted node's result, as far as ONNX's operator schemas derive it from
/// the types of the inputs. For values of unknown shape; if the shape is known, infer_outputs()
/// gives the type as well.
std::optional<at::ScalarType> infer_dtype(const Conversion& c, size_t output);

}  // namespace sparsebit::frontends
