#pragma once

#include "sparsebit/fx/ops/operator.h"

namespace sparsebit::fx {

/// An upper bound of the number of elements of a call's results, found without running it: guards
/// against results that do not fit in memory. Often far too large for operators that grow (see
/// Growth), else a small multiple of the elements of the arguments. Arguments must not be nodes.
double most_elements(const Operator& op, const Args& args);

/// For run_kernel(): throws TooLarge for a tensor with more elements than the memory limit has room
/// for, although it may take none itself: expand gives 2^42 elements out of one, and whatever reads
/// them takes hours.
void check_result_size(const Value& result);

}  // namespace sparsebit::fx
