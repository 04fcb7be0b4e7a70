#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>

namespace sparsebit {

/// The libtorch type of an ONNX element type number (1 = float, 2 = uint8, ...); nullopt when
/// libtorch has no such type.
std::optional<at::ScalarType> dtype_of_onnx(int64_t number);

}  // namespace sparsebit
