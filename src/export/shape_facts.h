#pragma once

#include "export/onnx_values.h"

#include "sparsebit/export/onnx.h"
#include "sparsebit/fx/graph_module.h"

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace sparsebit::exports {

/// What is known about the result of a node.
struct Fact {
  /// Of a tensor.
  std::optional<fx::TensorInfo> tensor = {};
  /// Of a list or tuple, one per item.
  std::vector<Fact> items = {};
};

/// One input of the model.
struct InputSpec {
  const fx::Node* node = nullptr;
  /// -1 and a symbol where the size is open. Nothing for an input that is no tensor.
  std::optional<fx::TensorInfo> tensor = {};
  fx::Value value = {};  ///< of an input that is no tensor and therefore fixed
};

/// Types and sizes of all values in a graph.
struct ShapeFacts {
  std::vector<InputSpec> inputs;
  std::unordered_map<const fx::Node*, Fact> facts;
  /// Inputs of a node whose memory its result shares.
  std::unordered_map<const fx::Node*, std::vector<const fx::Node*>> aliases;

  const Fact* find(const fx::Node& node) const;
};

/// Runs the graph twice, in eval mode, with different sizes wherever a size is open: what differs
/// is open, too. Another run finds the sizes that depend on data, some more with odd sizes, as far
/// as the model takes them, what was the same by chance. What depends on an operator
/// nobody can run is taken from the nodes' TensorInfo. The model is not changed.
ShapeFacts find_shapes(const fx::GraphModule& module, const OnnxExportOptions& options);

/// Arguments of a call as they are when the model is used, not trained.
fx::Args in_eval_mode(const fx::Args& args);

}  // namespace sparsebit::exports
