#include "quant/placement/placement_builder.h"

#include <algorithm>

namespace sparsebit::quant {
namespace {

using fx::Node;

// TensorRT's guide for explicit quantization: weights and features are symmetric with the zero
// point 0; pairs stand at the inputs of convolutions, transposed convolutions and matrix products,
// from where TensorRT moves them to what is before; biases and results stay float, because TensorRT
// computes the next layer's input type itself; of a residual sum the branch that is not a layer's
// own result is quantized, so that layer, sum and activation run as one.
const std::vector<std::string>& quantized_operators() {
  static const std::vector<std::string> names = {
      "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
      "linear", "matmul", "bmm"};
  return names;
}

class TensorRtPlacement : public PlacementBuilder {
 public:
  TensorRtPlacement(fx::GraphModule& module, const QConfig& config)
      : PlacementBuilder(module, config) {}

  Placement place() {
    for_each_call([this](Node& node, const fx::OperatorCall& call) { place_call(node, call); });
    return finish();
  }

 private:
  void place_call(Node& node, const fx::OperatorCall& call) {
    if (call.op->name == "add") return place_sum(node, call);
    const auto& names = quantized_operators();
    if (std::find(names.begin(), names.end(), call.op->name) == names.end())
      return decide_float(node,
                          "TensorRT moves pairs over '" + call.op->name + "' or runs it float");
    const QuantOperator& known = quant_operators().get(call.op->name);
    if (fx::mutates_input(node, module_)) return decide_float(node, "it writes to its input");
    if (!known.weight.empty()) {
      if (!has_constant_weight(call, known)) return decide_float(node, "its weight is computed");
      add_weight(node, call, known, config_of(Target::Weight, node));
    }
    for (const std::string& name : known.inputs) {
      const fx::Value& value = call.args[name];
      if (value.is_node() && may_be_floats(value.node())) add_feature(value.node(), node);
    }
  }

  void place_sum(Node& node, const fx::OperatorCall& call) {
    const fx::Value &a = call.args["input"], &b = call.args["other"];
    const bool features = a.is_node() && b.is_node() && &a.node() != &b.node() &&
                          may_be_floats(a.node()) && may_be_floats(b.node());
    if (!features) return decide_float(node, "it is no sum of two features");
    const bool a_is_layer = gives_to_sum_alone(a.node()), b_is_layer = gives_to_sum_alone(b.node());
    if (!a_is_layer && !b_is_layer) return decide_float(node, "neither branch ends with a layer");
    add_feature(a_is_layer && !b_is_layer ? b.node() : a.node(), node);
  }

  /// A layer that TensorRT can compute together with the sum behind it.
  bool gives_to_sum_alone(const Node& value) const {
    const std::optional<fx::OperatorCall> call = fx::resolve(value, module_);
    const QuantOperator* known = call ? quant_operators().find(call->op->name) : nullptr;
    return known && !known->weight.empty() && value.users().size() == 1;
  }

  void add_feature(Node& value, Node& consumer) {
    placement_.features.push_back(
        {.value = &value, .consumer = &consumer, .config = config_of(Target::Feature, consumer)});
  }
};

}  // namespace

Placement place_for_tensorrt(fx::GraphModule& module, const QConfig& config) {
  return TensorRtPlacement(module, config).place();
}

}  // namespace sparsebit::quant
