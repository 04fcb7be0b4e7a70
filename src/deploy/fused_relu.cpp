#include "deploy/fused_relu.h"

#include "deploy/onnx_links.h"

#include "sparsebit/io/onnx_tensor.h"

#include <ATen/ATen.h>

#include <set>

namespace sparsebit::deploy {
namespace {

bool is_constant(const OnnxLinks& links, const onnx::NodeProto& node, int input, double expected) {
  if (input >= node.input_size()) return false;
  const onnx::TensorProto* found = links.constant(node.input(input));
  if (!found) return false;
  onnx::TensorProto copy = *found;
  io::ExternalData none;
  const at::Tensor value = io::take_tensor(copy, none);
  return value.numel() == 1 && value.item<double>() == expected;
}

bool is_relu(const OnnxLinks& links, const onnx::NodeProto& node) {
  if (node.op_type() == "Relu") return true;
  return node.op_type() == "Clip" && is_constant(links, node, 1, 0) &&
         is_constant(links, node, 2, 6);
}

}  // namespace

std::map<std::string, std::string> convolutions_before_relu(const onnx::GraphProto& graph) {
  const OnnxLinks links(graph);
  std::set<std::string> outputs;
  for (const onnx::ValueInfoProto& output : graph.output()) outputs.insert(output.name());
  std::map<std::string, std::string> found;
  for (const onnx::NodeProto& node : graph.node()) {
    if (!is_relu(links, node)) continue;
    const onnx::NodeProto* before = links.maker(node.input(0));
    if (!before || before->op_type() != "Conv" || outputs.contains(before->output(0))) continue;
    if (links.readers(before->output(0)).size() == 1)
      found.emplace(node.output(0), before->output(0));
  }
  return found;
}

}  // namespace sparsebit::deploy
