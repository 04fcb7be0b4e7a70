#pragma once

#include "frontends/onnx/conversion.h"

namespace sparsebit::frontends {

/// As Conversion::function(), for calls whose result can be much larger than what it is made of
/// because of the values in it. `sizes` is the result's shape as far as it is known: what would
/// need more than a million elements is left to be computed when the model runs.
fx::Value function_of_size(Conversion& c, std::string_view target, std::vector<fx::Value> args,
                           fx::Kwargs kwargs, const std::vector<int64_t>& sizes);

}  // namespace sparsebit::frontends
