#pragma once

#include "export/converter.h"

namespace sparsebit::exports {

/// Pads the last axes of `x`. `pads` has the starts of these axes, then their ends; `mode` is
/// torch's: constant, reflect, replicate or circular. Amounts may be negative in constant mode.
OnnxTensor pad_spatial(Call& c, const OnnxTensor& x, const std::vector<int64_t>& pads,
                       const std::string& mode, const OnnxTensor& value = {});

}  // namespace sparsebit::exports
