#include "deploy/clean_onnx.h"

#include "deploy/onnx_links.h"

#include "sparsebit/export/clipped_weights.h"
#include "sparsebit/export/quantized_onnx.h"
#include "sparsebit/io/onnx_tensor.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

namespace sparsebit::deploy {
namespace {

/// Removes quantizers: their consumers read the quantizer's input instead.
void remove_quantizers(fx::GraphModule& module) {
  for (fx::Node* node : module.graph().node_list()) {
    if (!quant::find_quantizer(module, *node)) continue;
    node->replace_all_uses_with(*node->inputs().front());
    module.graph().erase(*node);
  }
}

/// Whether a node transposes a weight and is its only consumer.
bool transposes_weight(const onnx::NodeProto& node, const OnnxLinks& links) {
  if (node.op_type() != "Transpose" || links.readers(node.output(0)).empty()) return false;
  const onnx::TensorProto* weight = links.constant(node.input(0));
  return weight && weight->dims_size() == 2 && links.readers(weight->name()).size() == 1 &&
         !links.constant(transposed_name(weight->name()));
}

void transpose(onnx::TensorProto& matrix, const std::string& name) {
  io::ExternalData none;
  matrix = io::to_tensor_proto(io::take_tensor(matrix, none).t().contiguous(), name);
}

/// Stores weights that are transposed for MatMul transposed instead: vendors' tools expect a
/// constant as MatMul's operand.
void store_transposed_weights(onnx::GraphProto& graph) {
  std::map<std::string, std::string> transposed;  // weight by Transpose's output
  {
    const OnnxLinks links(graph);
    for (const onnx::NodeProto& node : graph.node()) {
      if (transposes_weight(node, links)) transposed.emplace(node.output(0), node.input(0));
    }
  }
  std::map<std::string, std::string> names;
  for (const auto& [result, weight] : transposed) names.emplace(weight, transposed_name(weight));
  for (onnx::TensorProto& constant : *graph.mutable_initializer()) {
    const auto it = names.find(constant.name());
    if (it != names.end()) transpose(constant, it->second);
  }
  auto& nodes = *graph.mutable_node();
  nodes.erase(std::remove_if(
                  nodes.begin(), nodes.end(),
                  [&](const onnx::NodeProto& node) { return transposed.contains(node.output(0)); }),
              nodes.end());
  for (onnx::NodeProto& node : nodes) {
    for (std::string& input : *node.mutable_input()) {
      if (const auto it = transposed.find(input); it != transposed.end())
        input = names.at(it->second);
    }
  }
}

}  // namespace

std::string transposed_name(const std::string& weight) { return weight + "_t"; }

exports::NamedOnnx clean_onnx(const quant::QuantModel& model) {
  const auto module = exports::with_clipped_weights(model);
  remove_quantizers(*module);
  exports::OnnxExportOptions options;
  exports::open_batches(model, options);
  exports::NamedOnnx clean = exports::to_named_onnx(*module, options);
  store_transposed_weights(*clean.model.mutable_graph());
  return clean;
}

}  // namespace sparsebit::deploy
