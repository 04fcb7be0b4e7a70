#pragma once

#include "frontends/onnx/conversion.h"

namespace sparsebit::frontends {

/// Whether indices that are computed surely do not count from the end, which ONNX allows and
/// torch's layers do not. Integers that the model is given count as such: nobody writes token
/// numbers that way.
bool are_from_the_front(const Conversion& c, const fx::Value& indices);

}  // namespace sparsebit::frontends
