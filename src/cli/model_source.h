#pragma once

#include "sparsebit/fx/graph_module.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sparsebit::cli {

/// What the `model` argument of a command accepts, for help texts.
inline constexpr const char* kModelHelp =
    "Model: an ONNX, TorchScript or torch.export (.pt2) file, or zoo:NAME (zoo:list prints the "
    "names)";

/// What a user writes to see the names of the zoo.
inline constexpr const char* kZooList = "zoo:list";

struct ModelOptions {
  std::vector<std::string> skip = {};          ///< patterns of modules to keep as one opaque step
  std::vector<std::string> given_inputs = {};  ///< names of inputs the user speaks of
  /// What is known of inputs by name; "" is the only input. For models that decide by sizes.
  std::map<std::string, fx::TensorInfo> shapes = {};
  uint64_t seed = 0;  ///< of a zoo model's weights and inputs
};

/// A model as commands work with it.
struct LoadedModel {
  std::unique_ptr<fx::GraphModule> module;
  /// One per placeholder; empty for a file, whose placeholders may tell shapes instead.
  std::vector<fx::Value> example_inputs;
  std::string name;  ///< what messages call it: the user's own text
  /// How often sizes of inputs decided what the graph has; see TorchScriptModel.
  int64_t size_decisions = 0;
};

/// Loads what a user wrote on the command line: `zoo:resnet18`, or a file, told apart by its
/// content. Warns about patterns that match nothing. Throws an Error that says what the file is
/// when it is not a model.
LoadedModel load_model(const std::string& source, const ModelOptions& options);

}  // namespace sparsebit::cli
