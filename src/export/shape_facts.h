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

/// Type and shape of a node's result, as far as they are known.
struct Fact {
  /// Type and shape of a tensor.
  std::optional<fx::TensorInfo> tensor = {};
  /// Facts about the items of a list or tuple.
  std::vector<Fact> items = {};
};

/// One input of the model.
struct InputSpec {
  const fx::Node* node = nullptr;
  /// -1 and a symbol for dynamic dimensions. Unset for an input that is not a tensor.
  std::optional<fx::TensorInfo> tensor = {};
  fx::Value value = {};  ///< constant value of an input that is not a tensor
};

/// Types and sizes of all values in a graph.
struct ShapeFacts {
  std::vector<InputSpec> inputs;
  std::unordered_map<const fx::Node*, Fact> facts;
  /// For each node, the inputs whose memory its result shares.
  std::unordered_map<const fx::Node*, std::vector<const fx::Node*>> aliases;

  const Fact* find(const fx::Node& node) const;
};

/// Runs the graph twice, in eval mode, with different sizes for dynamic input dimensions:
/// dimensions that differ between the runs are dynamic. Another run finds data-dependent sizes;
/// more runs with odd sizes, as far as the model accepts them, find dimensions that were equal by
/// chance. Results that depend on an operator without a kernel are taken from the nodes'
/// TensorInfo. The model is not changed.
ShapeFacts find_shapes(const fx::GraphModule& module, const OnnxExportOptions& options);

/// Arguments of a call with training, dropout and the like switched off.
fx::Args in_eval_mode(const fx::Args& args);

}  // namespace sparsebit::exports
