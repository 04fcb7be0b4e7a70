#pragma once

#include "frontends/onnx/conversion.h"

namespace sparsebit::frontends {

/// As Conversion::function(), for calls whose result can be much larger than their arguments,
/// depending on the values. `sizes` is the result's shape as far as it is known: a call with more
/// than a million elements is not folded but computed when the model runs.
fx::Value function_of_size(Conversion& c, std::string_view target, std::vector<fx::Value> args,
                           fx::Kwargs kwargs, const std::vector<int64_t>& sizes);

}  // namespace sparsebit::frontends
