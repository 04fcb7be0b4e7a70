#pragma once

#include "sparsebit/passes/pattern.h"

namespace sparsebit::passes {

/// A pattern node that only other nodes of the match read. A constant operand may be a number,
/// which is not an input node, or a tensor, which is one: so not all inputs have to be named,
/// unless `order` requires it.
inline PatternNode inner_step(const char* name, std::vector<std::string> operators,
                              std::vector<std::string> inputs,
                              InputOrder order = InputOrder::Subset) {
  return {.name = name,
          .operators = std::move(operators),
          .inputs = std::move(inputs),
          .order = order,
          .users = Users::Inside};
}

}  // namespace sparsebit::passes
