#pragma once

#include "frontends/onnx/conversion.h"

namespace sparsebit::frontends {

/// Whether computed indices are certainly not negative. ONNX lets negative indices count from the
/// end, torch's layers do not. Integer inputs of the model are assumed not to be negative, since
/// token ids never are.
bool are_from_the_front(const Conversion& c, const fx::Value& indices);

}  // namespace sparsebit::frontends
