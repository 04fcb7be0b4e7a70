#pragma once

#include "sparsebit/fx/ops/operator.h"

namespace sparsebit::fx {

/// An upper bound of the number of elements of a call's results, found without running it: guards
/// against results that do not fit in memory. Often far too large for operators that grow (see
/// Growth), else a small multiple of the elements of the arguments. Arguments must not be nodes.
double most_elements(const Operator& op, const Args& args);

}  // namespace sparsebit::fx
