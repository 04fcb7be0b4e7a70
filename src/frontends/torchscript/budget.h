#pragma once

#include "frontends/torchscript/script_value.h"

#include <cstdint>

namespace sparsebit::frontends::torchscript {

/// Limits the work of an import: a few lines of code can require more steps, longer lists or larger
/// graphs than any machine can handle. One budget serves a whole import.
class Budget {
 public:
  /// Throws Unsupported when the budget is used up.
  void spend(int64_t steps);
  /// Spends the cost of reading a value: small, unless it is a long or deep collection.
  void spend_on(const ScriptValue& datum);

 private:
  int64_t left_ = int64_t{1} << 20;
};

/// Cost of adding a node to the graph, in computing steps.
inline constexpr int64_t kStepsPerNode = 16;

}  // namespace sparsebit::frontends::torchscript
