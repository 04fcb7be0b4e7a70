#pragma once

#include "sparsebit/fx/graph_module.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sparsebit::easy {

/// Help of the `model` argument.
inline constexpr const char* kModelHelp =
    "Model: an ONNX, TorchScript or torch.export (.pt2) file, or zoo:NAME (zoo:list prints the "
    "names)";

/// The argument of `inspect` that lists the zoo models.
inline constexpr const char* kZooList = "zoo:list";

struct ModelOptions {
  std::vector<std::string> skip = {};          ///< patterns of modules to keep as a single node
  std::vector<std::string> given_inputs = {};  ///< names of inputs in the options
  /// Types and shapes of inputs by name; "" stands for the only input. For control flow that
  /// depends on input sizes.
  std::map<std::string, fx::TensorInfo> shapes = {};
  uint64_t seed = 0;  ///< seed of a zoo model's weights and inputs
};

/// A loaded model, with what messages need to know about it.
struct LoadedModel {
  std::unique_ptr<fx::GraphModule> module;
  /// One per placeholder; empty for a file, whose placeholders may have shapes instead.
  std::vector<fx::Value> example_inputs;
  std::string name;  ///< the model as written on the command line, for messages
  /// How many branches of the graph were chosen by input sizes; see TorchScriptModel.
  int64_t size_decisions = 0;
};

/// Loads a model as written on the command line: `zoo:resnet18`, or a file, whose format is
/// detected from its content. Warns about patterns that match nothing. Throws InvalidModel, with
/// the kind of the file, when it is not a model.
LoadedModel load_model(const std::string& source, const ModelOptions& options);

}  // namespace sparsebit::easy
