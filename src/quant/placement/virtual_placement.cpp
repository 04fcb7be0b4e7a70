#include "sparsebit/core/error.h"
#include "sparsebit/core/glob.h"
#include "sparsebit/fx/resolve.h"
#include "sparsebit/quant/placement/placement.h"
#include "sparsebit/quant/placement/quant_operators.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

namespace sparsebit::quant {
namespace {

using fx::Node;

class VirtualPlacement {
 public:
  VirtualPlacement(fx::GraphModule& module, const QConfig& config)
      : module_(module), config_(config) {}

  Placement place() {
    for (Node& node : module_.graph().nodes()) place_node(node);
    check_no_misfits();
    note_unused_skips();
    note_unused(config_.weight_specific, "W");
    note_unused(config_.feature_specific, "A");
    return std::move(placement_);
  }

 private:
  void place_node(Node& node) {
    const bool is_call = node.op() == fx::Opcode::CallFunction ||
                         node.op() == fx::Opcode::CallMethod || node.op() == fx::Opcode::CallModule;
    if (!is_call) return;
    if (is_skipped(node)) return decide_float(node, "SKIP_TRACE_MODULES names it");
    const std::optional<fx::OperatorCall> call = fx::resolve(node, module_);
    const QuantOperator* known = call ? quant_operators().find(call->op->name) : nullptr;
    if (!call) return decide_float(node, "nobody knows this operator");
    if (!known) return decide_float(node, "the operator '" + call->op->name + "' is not quantized");
    place_weight(node, *call, *known);
    place_inputs(node, *call, *known);
  }

  /// Whether a pattern matches its module or one around it. While tracing, such a module stays one
  /// step; in a graph from a file its steps are known all the same.
  bool is_skipped(const Node& node) {
    bool skipped = false;
    const std::string& path = node.module_path();
    for (size_t end = path.find('.');; end = path.find('.', end + 1)) {
      for (const std::string& pattern : config_.skip_trace_modules) {
        if (!glob_match(path.substr(0, end), pattern)) continue;
        used_skips_.insert(pattern);
        skipped = true;
      }
      if (end == std::string::npos) return skipped;
    }
  }

  void place_weight(Node& node, const fx::OperatorCall& call, const QuantOperator& known) {
    if (known.weight.empty()) return;
    const fx::Value& weight = call.args[known.weight];
    const bool is_constant =
        weight.is_tensor() || (weight.is_node() && weight.node().op() == fx::Opcode::GetAttr);
    if (!is_constant) return decide_float(node, "its weight is computed");
    const TensorConfig config = config_.of_layer(Target::Weight, names_of(node), &used_);
    const at::Tensor* tensor =
        weight.is_tensor() ? &weight.tensor() : module_.find_tensor(weight.node().target());
    if (tensor) check_groups(node, *tensor, known, config);
    placement_.weights.push_back({&node, known.weight, known.weight_axis, config});
  }

  void check_groups(const Node& node, const at::Tensor& weight, const QuantOperator& known,
                    const TensorConfig& config) {
    const int64_t size = config.quantizer.group_size;
    if (size == 0 || config.quantizer.disable) return;
    const bool has_groups = known.weight_axis == 0 && weight.dim() > 1;
    if (!has_groups || weight.size(1) % size != 0) misfits_.push_back(&node);
  }

  /// All at once, ready to be pasted into a config.
  void check_no_misfits() const {
    std::string rules;
    for (const Node* node : misfits_)
      rules += "\n    \"" + node->name() + "\": [\"QUANTIZER.GROUP_SIZE\", 0]";
    SPARSEBIT_CHECK(
        misfits_.empty(), InvalidArgument, "W.QUANTIZER.GROUP_SIZE does not divide the ",
        "inputs of layer '", misfits_.front()->name(), "' and ", misfits_.size() - 1,
        " others, or they have no groups; below W, these have none:\n  SPECIFIC:\n  -", rules);
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
    TensorConfig config = config_.of_layer(Target::Feature, names_of(node), &used_);
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

  /// Not known to be integers, a number or a tuple.
  static bool may_be_floats(const Node& value) {
    const auto& info = value.tensor_info();
    return !info || at::isFloatingType(info->dtype);
  }

  static LayerNames names_of(const Node& node) {
    return {.path = node.module_path(), .name = node.name()};
  }

  void decide_float(const Node& node, std::string reason) {
    placement_.floats.push_back({node.name(), std::move(reason)});
  }

  void note_unused_skips() {
    for (const std::string& pattern : config_.skip_trace_modules) {
      if (!used_skips_.contains(pattern))
        placement_.unused_patterns.push_back("SKIP_TRACE_MODULES: '" + pattern +
                                             "' matches no module");
    }
  }

  void note_unused(const Specific& specific, const std::string& side) {
    for (const auto& element : specific) {
      for (const SpecificRule& rule : element) {
        if (std::find(used_.begin(), used_.end(), &rule) == used_.end())
          placement_.unused_patterns.push_back(rule.where + ": '" + rule.pattern +
                                               "' matches no layer of " + side);
      }
    }
  }

  fx::GraphModule& module_;
  const QConfig& config_;
  std::vector<const SpecificRule*> used_;
  std::set<std::string> used_skips_;
  std::vector<const Node*> misfits_;  // layers that GROUP_SIZE does not fit
  Placement placement_;
};

}  // namespace

Placement place_virtual(fx::GraphModule& module, const QConfig& config) {
  return VirtualPlacement(module, config).place();
}

}  // namespace sparsebit::quant
