#pragma once

#include "sparsebit/fx/graph_module.h"

#include <filesystem>
#include <memory>
#include <string>

namespace onnx {
class ModelProto;
}

namespace sparsebit::frontends {

/// Reads an ONNX file (operator sets 7 to 22) as a graph of torch operators.
///
/// Layers with weights become modules at paths taken from the file's names (`layer1.0.conv1`), all
/// other nodes become functions; nodes that depend on constants only are folded. Placeholders carry
/// the inputs' names, types and shapes, every node its shape as far as the file states it. The
/// model is in eval mode.
///
/// An unknown operator becomes a node with the target `onnx.<domain>.<OpType>` and the operator's
/// attributes; only running it is an error.
///
/// Throws Io when the file cannot be read, and InvalidModel, naming file and node, when it is
/// damaged or not well formed. Memory stays in proportion to the file's size.
std::unique_ptr<fx::GraphModule> import_onnx(const std::filesystem::path& path);

/// The origin of a model in memory.
struct OnnxOrigin {
  std::string name = "model";         ///< in error messages
  std::filesystem::path folder = {};  ///< of external data; empty: no external data
};

/// As above for a parsed model, whose weights are moved into the graph.
std::unique_ptr<fx::GraphModule> import_onnx(onnx::ModelProto&& model,
                                             const OnnxOrigin& origin = {});

}  // namespace sparsebit::frontends
