#pragma once

#include "sparsebit/fx/resolve.h"

namespace sparsebit::passes {

/// An upper bound of how many numbers the result of a call with known arguments has, found without
/// computing it. Far too large for some operators, never too small for those that make large
/// results of small arguments.
double most_numbers(const fx::OperatorCall& call);

}  // namespace sparsebit::passes
