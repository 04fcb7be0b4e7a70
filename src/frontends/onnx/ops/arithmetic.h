#pragma once

#include "frontends/onnx/conversion.h"

namespace sparsebit::frontends {

/// Calls `torch.<name>` with the first two inputs, a constant without axes as a number. A number on
/// the left is written with Python's operator, since torch's functions want a tensor there.
fx::Value call_binary(Conversion& c, const char* function, const char* python_operator);

}  // namespace sparsebit::frontends
