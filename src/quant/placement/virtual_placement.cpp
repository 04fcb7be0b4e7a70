#include "quant/placement/placement_builder.h"

#include <algorithm>

namespace sparsebit::quant {
namespace {

using fx::Node;

class VirtualPlacement : public PlacementBuilder {
 public:
  VirtualPlacement(fx::GraphModule& module, const QConfig& config)
      : PlacementBuilder(module, config) {}

  Placement place() {
    for_each_call([this](Node& node, const fx::OperatorCall& call) { place_call(node, call); });
    return finish();
  }

 private:
  void place_call(Node& node, const fx::OperatorCall& call) {
    const QuantOperator* known = quant_operators().find(call.op->name);
    if (!known) return decide_float(node, "the operator '" + call.op->name + "' is not quantized");
    place_weight(node, call, *known);
    place_inputs(node, call, *known);
  }

  void place_weight(Node& node, const fx::OperatorCall& call, const QuantOperator& known) {
    if (known.weight.empty()) return;
    if (!has_constant_weight(call, known)) return decide_float(node, "its weight is computed");
    add_weight(node, call, known, config_of(Target::Weight, node));
  }

  void place_inputs(Node& node, const fx::OperatorCall& call, const QuantOperator& known) {
    std::vector<Node*> values;
    for (const std::string& name : known.inputs) {
      const fx::Value& value = call.args[name];
      const bool is_new =
          value.is_node() && std::find(values.begin(), values.end(), &value.node()) == values.end();
      if (is_new && may_be_floats(value.node())) values.push_back(&value.node());
    }
    if (values.empty()) return;
    if (fx::mutates_input(node, module_)) return decide_float(node, "it writes to its input");
    if (const std::string reason = reason_for_float(call, known, values); !reason.empty())
      return decide_float(node, reason);
    TensorConfig config = config_of(Target::Feature, node);
    if (known.bits > 0) config.quantizer.bits = known.bits;
    for (Node* value : values) placement_.features.push_back({value, &node, config});
  }

  /// Why the inputs stay float; empty when they do not.
  std::string reason_for_float(const fx::OperatorCall& call, const QuantOperator& known,
                               const std::vector<Node*>& values) const {
    if (known.joins && values.size() < 2) return "only one of its operands is a feature";
    if (known.only_if_asked && !config_.quantize_add) return "A.QADD.ENABLE_QUANT is off";
    if (call.op->name == "interpolate" && call.args["mode"].is_string() &&
        call.args["mode"].string() == "nearest")
      return "copies of numbers are what the numbers are";
    const fx::Spelling* before = fx::find_spelling(*values.front(), module_);
    if (!before || !config_.schedule.disable_unnecessary_quant) return "";
    const auto& partners = known.runs_with;
    if (std::find(partners.begin(), partners.end(), before->op->name) == partners.end()) return "";
    const bool is_plain_sum = before->op->name != "add" || values.front()->inputs().size() == 2;
    return is_plain_sum ? "it runs as one with '" + values.front()->name() + "'" : "";
  }
};

}  // namespace

Placement place_virtual(fx::GraphModule& module, const QConfig& config) {
  return VirtualPlacement(module, config).place();
}

}  // namespace sparsebit::quant
