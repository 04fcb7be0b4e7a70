#pragma once

#include <string>

namespace sparsebit::frontends {

// 4-bit integers are kept one in a byte, which is enough to move them and to widen them. Whatever
// computes with them would get the limits of 8 bits, so such nodes are carried, not run.

/// Whether an operator may read bytes that stand for 4-bit integers.
bool takes_four_bits(const std::string& type);

/// Whether its result consists of elements of its first input, so that they are 4-bit integers
/// again.
bool moves_elements(const std::string& type);

}  // namespace sparsebit::frontends
