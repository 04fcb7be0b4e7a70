#pragma once

#include "sparsebit/fx/ops/operator.h"

namespace sparsebit::fx {

/// An upper bound of how many elements the results of a call have, found without running it, so
/// that nobody computes what no memory holds. Often far too large where the operator grows (see
/// Growth), a small multiple of what is given where it does not. Arguments may not be nodes.
double most_elements(const Operator& op, const Args& args);

}  // namespace sparsebit::fx
