#include "export/integer_operators.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace sparsebit::exports {
namespace {

using onnx::NodeProto;

constexpr const char* kMicrosoft = "com.microsoft";

/// What an integer operator takes, in its own order.
enum class Part {
  Tensors,  ///< integers, scale and zero point of each
  Bias,     ///< integers alone
  Result    ///< scale and zero point, unless the result is float
};

struct Form {
  std::string type;
  std::string domain;
  std::vector<Part> parts;  ///< none: integers are copied where they have one scale on both sides
  bool needs_integer_result = true;
};

// As ONNX Runtime's optimizer replaces them, see quant/placement/onnxruntime_rules.cpp.
const std::map<std::string, Form>& forms() {
  static const std::map<std::string, Form> all = [] {
    using enum Part;
    std::map<std::string, Form> f = {
        {"Conv", {"QLinearConv", "", {Tensors, Result, Bias}}},
        {"MatMul", {"QLinearMatMul", "", {Tensors, Result}}},
        {"Gemm", {"QGemm", kMicrosoft, {Tensors, Bias, Result}, false}},
        {"Concat", {"QLinearConcat", kMicrosoft, {Result, Tensors}}}};
    for (const char* name :
         {"Add", "Mul", "AveragePool", "GlobalAveragePool", "LeakyRelu", "Sigmoid"})
      f[name] = {std::string("QLinear") + name, kMicrosoft, {Tensors, Result}};
    for (const char* name : {"MaxPool", "Resize", "Reshape", "Flatten", "Transpose", "Squeeze",
                             "Unsqueeze", "Expand", "Slice", "Split", "Gather"})
      f[name] = {name, "", {}};
    return f;
  }();
  return all;
}

class Rewriting {
 public:
  explicit Rewriting(onnx::GraphProto& graph) : graph_(graph) {
    for (NodeProto& node : *graph.mutable_node()) {
      for (const std::string& output : node.output()) maker_[output] = &node;
      for (const std::string& input : node.input()) readers_[input].push_back(&node);
    }
    for (const onnx::ValueInfoProto& output : graph.output()) outputs_.insert(output.name());
    for (const onnx::TensorProto& tensor : graph.initializer())
      types_[tensor.name()] = tensor.data_type();
  }

  bool run() {
    for (NodeProto& node : *graph_.mutable_node()) {
      const auto form = forms().find(node.op_type());
      if (form != forms().end() && node.domain().empty()) rewrite(node, form->second);
    }
    drop_unused();
    return uses_microsoft_;
  }

 private:
  void rewrite(NodeProto& node, const Form& form) {
    if (form.parts.empty()) return copy_integers(node);
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
    if (form.type == "QGemm") drop_beta(node);
    node.set_op_type(form.type);
    node.set_domain(form.domain);
    uses_microsoft_ = uses_microsoft_ || !form.domain.empty();
  }

  static void set_inputs(NodeProto& node, const Form& form, std::vector<const NodeProto*> tensors,
                         const NodeProto* result) {
    const bool takes_bias =
        std::find(form.parts.begin(), form.parts.end(), Part::Bias) != form.parts.end();
    std::string bias;
    if (takes_bias && tensors.size() == 3) {
      bias = tensors.back()->input(0);
      tensors.pop_back();
    }
    std::vector<std::string> inputs;
    for (const Part part : form.parts) {
      if (part == Part::Bias) inputs.push_back(bias);
      if (part == Part::Result && result)
        inputs.insert(inputs.end(), {result->input(1), result->input(2)});
      if (part != Part::Tensors) continue;
      for (const NodeProto* tensor : tensors)
        inputs.insert(inputs.end(), tensor->input().begin(), tensor->input().end());
    }
    if (inputs.back().empty()) inputs.pop_back();
    *node.mutable_input() = {inputs.begin(), inputs.end()};
  }

  /// Integers in, floats out.
  void multiply_to_float(NodeProto& node, const std::vector<const NodeProto*>& tensors) {
    node.clear_input();
    for (int part = 0; part < 3; ++part) {  // integers of both, scales of both, zero points of both
      for (const NodeProto* tensor : tensors) node.add_input(tensor->input(part));
    }
    node.set_op_type("MatMulIntegerToFloat");
    node.set_domain(kMicrosoft);
    uses_microsoft_ = true;
  }

  /// QGemm has none: biases count once.
  static void drop_beta(NodeProto& node) {
    auto& attributes = *node.mutable_attribute();
    for (int i = attributes.size() - 1; i >= 0; --i) {
      if (attributes[i].name() == "beta") attributes.DeleteSubrange(i, 1);
    }
  }

  void copy_integers(NodeProto& node) {
    const NodeProto* input = dequantizer_of(node.input(0));
    if (!input || is_cubic(node)) return;
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

  static bool is_cubic(const NodeProto& node) {
    return std::any_of(node.attribute().begin(), node.attribute().end(), [](const auto& attribute) {
      return attribute.name() == "mode" && attribute.s() == "cubic";
    });
  }

  void take_output(NodeProto& node, int index, const NodeProto& quantizer) {
    node.set_output(index, quantizer.output(0));
    replaced_.insert(&quantizer);
  }

  const NodeProto* dequantizer_of(const std::string& value) const {
    const auto it = maker_.find(value);
    const bool found = it != maker_.end() && it->second->op_type() == "DequantizeLinear";
    return found && is_plain(*it->second) ? it->second : nullptr;
  }

  /// The only reader of a value, if it makes integers of it.
  const NodeProto* quantizer_of(const std::string& value) const {
    const auto it = readers_.find(value);
    const bool alone = it != readers_.end() && it->second.size() == 1 && !outputs_.contains(value);
    const bool found = alone && it->second.front()->op_type() == "QuantizeLinear";
    return found && is_plain(*it->second.front()) ? it->second.front() : nullptr;
  }

  /// Of 8 bits, without groups, and per tensor unless it is a weight: integer operators know no
  /// others.
  bool is_plain(const NodeProto& pair) const {
    const bool has_zero = pair.input_size() == 3;  // biases have none
    const auto type = types_.find(pair.input(has_zero ? 2 : 0));
    const int32_t wanted = has_zero ? onnx::TensorProto::INT8 : onnx::TensorProto::INT32;
    const bool fits =
        type != types_.end() &&
        (type->second == wanted || (has_zero && type->second == onnx::TensorProto::UINT8));
    if (!fits) return false;
    for (const onnx::AttributeProto& attribute : pair.attribute()) {
      if (attribute.name() == "block_size" && attribute.i() > 0) return false;
      if (attribute.name() == "axis" && !types_.contains(pair.input(0))) return false;
    }
    return true;
  }

  /// Pairs that nobody reads any more, from the end.
  void drop_unused() {
    std::set<std::string> read(outputs_.begin(), outputs_.end());
    std::vector<NodeProto> kept;
    for (int i = graph_.node_size() - 1; i >= 0; --i) {
      NodeProto& node = *graph_.mutable_node(i);
      const bool is_pair = node.op_type() == "DequantizeLinear" || replaced_.contains(&node);
      if (is_pair && (replaced_.contains(&node) || !read.contains(node.output(0)))) continue;
      read.insert(node.input().begin(), node.input().end());
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
  std::unordered_map<std::string, NodeProto*> maker_;
  std::unordered_map<std::string, std::vector<const NodeProto*>> readers_;
  std::unordered_map<std::string, int32_t> types_;  // of constants
  std::set<std::string> outputs_;
  std::set<const NodeProto*> replaced_;  // quantizers whose integers another node makes
  bool uses_microsoft_ = false;
};

}  // namespace

bool use_integer_operators(onnx::GraphProto& graph) { return Rewriting(graph).run(); }

}  // namespace sparsebit::exports
