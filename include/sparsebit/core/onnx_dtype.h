#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>

namespace sparsebit {

/// The element type libtorch has for ONNX's number of one (1 = float, 2 = uint8, ...); nothing
/// where it has none of that width.
std::optional<at::ScalarType> dtype_of_onnx(int64_t number);

}  // namespace sparsebit
