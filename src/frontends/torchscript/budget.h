#pragma once

#include "frontends/torchscript/script_value.h"

#include <cstdint>

namespace sparsebit::frontends::torchscript {

/// How much work a file may make: a few lines of code can ask for more steps, longer lists or
/// larger graphs than any machine has. One budget serves a whole import.
class Budget {
 public:
  /// Throws Unsupported when there is nothing left.
  void spend(int64_t steps);
  /// What reading a value costs: little more than nothing, unless it is a long or deep collection.
  void spend_on(const ScriptValue& datum);

 private:
  int64_t left_ = int64_t{1} << 20;
};

/// A node of the graph costs more than a step that only computes.
inline constexpr int64_t kStepsPerNode = 16;

}  // namespace sparsebit::frontends::torchscript
