#pragma once

#include <set>
#include <string>

namespace sparsebit::fx::test {

/// Spellings that evaluate() computed so far, see op_case.h.
std::set<std::string>& tested_spellings();

}  // namespace sparsebit::fx::test
