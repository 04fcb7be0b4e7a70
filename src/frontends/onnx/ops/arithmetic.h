#pragma once

#include "frontends/onnx/conversion.h"

namespace sparsebit::frontends {

/// The second input as it broadcasts with the first. Before operator set 7 it could be aligned with
/// any axes of the first; then trailing axes of size 1 are added to it.
fx::Value right_operand(Conversion& c);

/// Calls `torch.<name>` with the first two inputs, a constant without axes as a number. A number on
/// the left is written with Python's operator, since torch's functions want a tensor there.
fx::Value call_binary(Conversion& c, const char* function, const char* python_operator);

}  // namespace sparsebit::frontends
