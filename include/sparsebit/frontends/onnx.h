#pragma once

#include "sparsebit/fx/graph_module.h"

#include <filesystem>
#include <memory>
#include <string>

namespace onnx {
class ModelProto;
}

namespace sparsebit::frontends {

/// Reads an ONNX file (operator sets 7 to 22) as a graph of torch's operators.
///
/// Layers with weights become modules at the paths the file's names tell (`layer1.0.conv1`), the
/// rest becomes functions; what depends on constants alone is computed here. Placeholders carry the
/// inputs' names, types and shapes, every node its shape as far as the file tells it. The model is
/// in eval mode.
///
/// An operator that is not understood stands in the graph with its attributes, as
/// `onnx.<domain>.<OpType>`; only running it is an error.
///
/// Throws Io when the file cannot be read, and InvalidModel, naming file and node, when it is
/// damaged or not well formed. Memory stays in proportion to the file's size.
std::unique_ptr<fx::GraphModule> import_onnx(const std::filesystem::path& path);

/// Where a model in memory comes from.
struct OnnxOrigin {
  std::string name = "model";         ///< what errors call it
  std::filesystem::path folder = {};  ///< of external data; empty: there is none
};

/// As above for a parsed model, whose weights are moved into the graph.
std::unique_ptr<fx::GraphModule> import_onnx(onnx::ModelProto&& model,
                                             const OnnxOrigin& origin = {});

}  // namespace sparsebit::frontends
