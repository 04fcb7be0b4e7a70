#pragma once

#include "sparsebit/fx/ops/operator.h"

#include <string>

namespace sparsebit::fx::test {

/// What the table says of an operator (who may share memory, how many axes and elements a
/// result has, and of what type) and is not true of this call; empty when all is true.
std::string broken_fact(const Operator& op, const Args& args, const Value& result);

}  // namespace sparsebit::fx::test
