#pragma once

#include "sparsebit/fx/ops/operator.h"

#include <torch/nn/module.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sparsebit::fx::test {

/// A call of a module's constructor.
struct NewModule {
  std::string type;
  std::vector<Value> args = {};
  Kwargs kwargs = {};
};

/// Parameters and buffers of a new module, drawn from a generator with this seed.
ModuleState create_state(const NewModule& module, uint64_t seed = 1);

/// Names and shapes in order ("weight[8, 3]", "bias None"), requires_grad, and that the same seed
/// gives the same numbers. Also checks that a call of the module would find all its arguments.
void expect_state(const NewModule& module, const std::vector<std::string>& parameters,
                  const std::vector<std::string>& buffers = {});

/// The parameters have the numbers that libtorch draws from the same seed.
void expect_drawn_like(const NewModule& module,
                       const std::function<std::shared_ptr<torch::nn::Module>()>& libtorch);

}  // namespace sparsebit::fx::test
