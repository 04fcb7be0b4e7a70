#include "export/integer_operators.h"

#include "export/subgraphs.h"

#include "sparsebit/quant/regions/integer_regions.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace sparsebit::exports {
namespace {

using onnx::NodeProto;

constexpr const char* kMicrosoft = "com.microsoft";

using platforms::OnnxForm;

/// The platform's integer operators by the ONNX operator that they replace.
std::map<std::string, OnnxForm> forms_of(const platforms::Platform& platform) {
  std::map<std::string, OnnxForm> forms;
  for (const auto& [name, rule] : platform.operators) {
    for (const OnnxForm& form : rule.onnx) forms.emplace(form.from, form);
  }
  return forms;
}

/// Names of the nodes that the platform computes with integers.
std::set<std::string> integer_nodes(const quant::QuantModel& model) {
  const fx::GraphModule& module = model.module();
  const quant::IntegerRegions regions(module, model.platform());
  std::set<std::string> names;
  for (const fx::Node& node : module.graph().nodes()) {
    const std::optional<fx::OperatorCall> call = fx::resolve(node, module);
    if (call && !regions.why_float(node, *call)) names.insert(node.name());
  }
  return names;
}

/// The graph node that an ONNX node was exported from: "linear" for "linear/MatMul".
std::string written_for(const NodeProto& node) {
  return node.name().substr(0, node.name().find('/'));
}

class Rewriting {
 public:
  Rewriting(onnx::GraphProto& graph, const quant::QuantModel& model)
      : graph_(graph), forms_(forms_of(model.platform())), integer_nodes_(integer_nodes(model)) {
    for (NodeProto& node : *graph.mutable_node()) {
      for (const std::string& output : node.output()) maker_[output] = &node;
      std::unordered_set<std::string> read;
      collect_uses(node, read);
      for (const std::string& value : read) readers_[value].push_back(&node);
    }
    for (const onnx::ValueInfoProto& output : graph.output()) outputs_.insert(output.name());
  }

  bool run() {
    for (NodeProto& node : *graph_.mutable_node()) {
      if (!node.domain().empty() || !integer_nodes_.contains(written_for(node))) continue;
      const auto form = forms_.find(node.op_type());
      if (form != forms_.end()) rewrite(node, form->second);
    }
    drop_unused();
    return uses_microsoft_;
  }

 private:
  void rewrite(NodeProto& node, const OnnxForm& form) {
    if (form.to.empty()) return copy_integers(node);
    const NodeProto* result = quantizer_of(node.output(0));
    std::vector<const NodeProto*> tensors;
    for (const std::string& input : node.input()) {
      tensors.push_back(dequantizer_of(input));
      if (!tensors.back()) return;
    }
    if (!result && node.op_type() == "MatMul") return multiply_to_float(node, tensors);
    if (!result && form.needs_integer_result) return;
    set_inputs(node, form, std::move(tensors), result);
    if (result) take_output(node, 0, *result);
    if (form.to == "QGemm") drop_beta(node);
    node.set_op_type(form.to);
    node.set_domain(form.domain);
    uses_microsoft_ = uses_microsoft_ || !form.domain.empty();
  }

  static void set_inputs(NodeProto& node, const OnnxForm& form,
                         std::vector<const NodeProto*> tensors, const NodeProto* result) {
    const bool takes_bias =
        std::find(form.order.begin(), form.order.end(), "bias") != form.order.end();
    std::string bias;
    if (takes_bias && tensors.size() == 3) {
      bias = tensors.back()->input(0);
      tensors.pop_back();
    }
    std::vector<std::string> inputs;
    for (const std::string& part : form.order) {
      if (part == "bias") inputs.push_back(bias);
      if (part == "result" && result)
        inputs.insert(inputs.end(), {result->input(1), result->input(2)});
      if (part != "tensors") continue;
      for (const NodeProto* tensor : tensors)
        inputs.insert(inputs.end(), tensor->input().begin(), tensor->input().end());
    }
    if (inputs.back().empty()) inputs.pop_back();
    *node.mutable_input() = {inputs.begin(), inputs.end()};
  }

  /// MatMulIntegerToFloat: integer inputs, float output.
  void multiply_to_float(NodeProto& node, const std::vector<const NodeProto*>& tensors) {
    node.clear_input();
    for (int part = 0; part < 3; ++part) {  // integers of both, scales of both, zero points of both
      for (const NodeProto* tensor : tensors) node.add_input(tensor->input(part));
    }
    node.set_op_type("MatMulIntegerToFloat");
    node.set_domain(kMicrosoft);
    uses_microsoft_ = true;
  }

  /// QGemm has no attribute beta: the bias is added once.
  static void drop_beta(NodeProto& node) {
    auto& attributes = *node.mutable_attribute();
    for (int i = attributes.size() - 1; i >= 0; --i) {
      if (attributes[i].name() == "beta") attributes.DeleteSubrange(i, 1);
    }
  }

  void copy_integers(NodeProto& node) {
    const NodeProto* input = dequantizer_of(node.input(0));
    if (!input) return;
    std::vector<const NodeProto*> results;
    for (const std::string& output : node.output()) {
      const NodeProto* result = quantizer_of(output);
      const bool same =
          result && result->input(1) == input->input(1) && result->input(2) == input->input(2);
      if (!same) return;
      results.push_back(result);
    }
    node.set_input(0, input->input(0));
    for (size_t i = 0; i < results.size(); ++i) take_output(node, static_cast<int>(i), *results[i]);
  }

  void take_output(NodeProto& node, int index, const NodeProto& quantizer) {
    node.set_output(index, quantizer.output(0));
    replaced_.insert(&quantizer);
  }

  const NodeProto* dequantizer_of(const std::string& value) const {
    const auto it = maker_.find(value);
    const bool found = it != maker_.end() && it->second->op_type() == "DequantizeLinear";
    return found ? it->second : nullptr;
  }

  /// The only consumer of a value, if it is a QuantizeLinear.
  const NodeProto* quantizer_of(const std::string& value) const {
    const auto it = readers_.find(value);
    const bool alone = it != readers_.end() && it->second.size() == 1 && !outputs_.contains(value);
    const bool found = alone && it->second.front()->op_type() == "QuantizeLinear";
    return found ? it->second.front() : nullptr;
  }

  /// Removes Q/DQ nodes and initializers that have no consumers any more, from the end.
  void drop_unused() {
    std::unordered_set<std::string> read(outputs_.begin(), outputs_.end());
    std::vector<NodeProto> kept;
    for (int i = graph_.node_size() - 1; i >= 0; --i) {
      NodeProto& node = *graph_.mutable_node(i);
      const bool is_pair = node.op_type() == "DequantizeLinear" || replaced_.contains(&node);
      if (is_pair && (replaced_.contains(&node) || !read.contains(node.output(0)))) continue;
      collect_uses(node, read);
      kept.push_back(std::move(node));
    }
    graph_.clear_node();
    for (auto it = kept.rbegin(); it != kept.rend(); ++it) *graph_.add_node() = std::move(*it);
    auto& constants = *graph_.mutable_initializer();
    for (int i = constants.size() - 1; i >= 0; --i) {
      if (!read.contains(constants[i].name())) constants.DeleteSubrange(i, 1);
    }
  }

  onnx::GraphProto& graph_;
  std::map<std::string, OnnxForm> forms_;
  std::set<std::string> integer_nodes_;
  std::unordered_map<std::string, NodeProto*> maker_;
  std::unordered_map<std::string, std::vector<const NodeProto*>> readers_;
  std::set<std::string> outputs_;
  std::set<const NodeProto*> replaced_;  // QuantizeLinear nodes replaced by an integer operator
  bool uses_microsoft_ = false;
};

}  // namespace

bool use_integer_operators(onnx::GraphProto& graph, const quant::QuantModel& model) {
  return Rewriting(graph, model).run();
}

}  // namespace sparsebit::exports
