#pragma once

#include "sparsebit/fx/ops/operator.h"

#include <string>

namespace sparsebit::fx::test {

/// The fact of the operator table (shared memory, rank, number of elements, element type) that this
/// call violates; empty when it violates none.
std::string broken_fact(const Operator& op, const Args& args, const Value& result);

}  // namespace sparsebit::fx::test
