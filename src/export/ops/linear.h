#pragma once

#include "export/converter.h"

namespace sparsebit::exports {

/// x @ weight^T + bias for a weight of [out, in]; bias may be absent.
Sym linear(Call& c, const Sym& x, const Sym& weight, const Sym& bias);

}  // namespace sparsebit::exports
