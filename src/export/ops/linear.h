#pragma once

#include "export/converter.h"

namespace sparsebit::exports {

/// x @ weight^T + bias for a weight of [out, in]; bias may be absent.
OnnxTensor linear(Call& c, const OnnxTensor& x, const OnnxTensor& weight, const OnnxTensor& bias);

}  // namespace sparsebit::exports
