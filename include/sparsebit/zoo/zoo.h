#pragma once

#include "sparsebit/core/registry.h"
#include "sparsebit/nn/module.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sparsebit::zoo {

/// A model and one set of inputs it accepts.
struct Example {
  nn::ModulePtr model;
  std::vector<nn::Value> inputs;
};

/// An architecture of the zoo.
struct Architecture {
  std::string summary;
  std::function<Example()> make;
};

/// All architectures by name: "resnet18", "mobilenet_v2", "bert", ...
Registry<Architecture>& architectures();

/// A model with random weights and inputs that follow from the seed alone, in eval mode.
Example make(std::string_view name, uint64_t seed = 0);

}  // namespace sparsebit::zoo
