#include "quant/placement/placement_builder.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/glob.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sparsebit::quant {

using fx::Node;

Placement PlacementBuilder::finish() {
  check_no_misfits();
  note_unused_skips();
  note_unused(config_.weight_specific, "W");
  note_unused(config_.feature_specific, "A");
  return std::move(placement_);
}

bool PlacementBuilder::is_call(const Node& node) {
  return node.op() == fx::Opcode::CallFunction || node.op() == fx::Opcode::CallMethod ||
         node.op() == fx::Opcode::CallModule;
}

bool PlacementBuilder::may_be_floats(const Node& value) {
  const auto& info = value.tensor_info();
  return !info || at::isFloatingType(info->dtype);
}

void PlacementBuilder::for_each_call(
    const std::function<void(Node&, const fx::OperatorCall&)>& place) {
  for (Node& node : module_.graph().nodes()) {
    if (!is_call(node)) continue;
    const std::optional<fx::OperatorCall> call = fx::resolve(node, module_);
    if (is_skipped(node)) {
      decide_float(node, "SKIP_TRACE_MODULES names it");
    } else if (!call) {
      decide_float(node, "nobody knows this operator");
    } else {
      place(node, *call);
    }
  }
}

TensorConfig PlacementBuilder::config_of(Target target, const Node& node) {
  return config_.of_layer(target, {.path = node.module_path(), .name = node.name()}, &used_);
}

void PlacementBuilder::decide_float(const Node& node, std::string reason) {
  placement_.floats.push_back({node.name(), std::move(reason)});
}

bool PlacementBuilder::is_skipped(const Node& node) {
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

bool PlacementBuilder::has_constant_weight(const fx::OperatorCall& call,
                                           const QuantOperator& known) {
  const fx::Value& weight = call.args[known.weight];
  return weight.is_tensor() || (weight.is_node() && weight.node().op() == fx::Opcode::GetAttr);
}

void PlacementBuilder::add_weight(Node& node, const fx::OperatorCall& call,
                                  const QuantOperator& known, const TensorConfig& config) {
  const fx::Value& weight = call.args[known.weight];
  const at::Tensor* tensor =
      weight.is_tensor() ? &weight.tensor() : module_.find_tensor(weight.node().target());
  if (tensor) check_groups(node, *tensor, known, config);
  placement_.weights.push_back({&node, known.weight, known.weight_axis, config});
}

void PlacementBuilder::check_groups(const Node& node, const at::Tensor& weight,
                                    const QuantOperator& known, const TensorConfig& config) {
  const int64_t size = config.quantizer.group_size;
  if (size == 0 || config.quantizer.disable) return;
  const bool has_groups = known.weight_axis == 0 && weight.dim() > 1;
  if (!has_groups || weight.size(1) % size != 0) misfits_.push_back(&node);
}

/// All at once, ready to be pasted into a config.
void PlacementBuilder::check_no_misfits() const {
  std::string rules;
  for (const Node* node : misfits_)
    rules += "\n    \"" + node->name() + "\": [\"QUANTIZER.GROUP_SIZE\", 0]";
  SPARSEBIT_CHECK(misfits_.empty(), InvalidArgument, "W.QUANTIZER.GROUP_SIZE does not divide the ",
                  "inputs of layer '", misfits_.front()->name(), "' and ", misfits_.size() - 1,
                  " others, or they have no groups; below W, these have none:\n  SPECIFIC:\n  -",
                  rules);
}

void PlacementBuilder::note_unused_skips() {
  for (const std::string& pattern : config_.skip_trace_modules) {
    if (!used_skips_.contains(pattern))
      placement_.unused_patterns.push_back("SKIP_TRACE_MODULES: '" + pattern +
                                           "' matches no module");
  }
}

void PlacementBuilder::note_unused(const Specific& specific, const std::string& side) {
  for (const auto& element : specific) {
    for (const SpecificRule& rule : element) {
      if (std::find(used_.begin(), used_.end(), &rule) == used_.end())
        placement_.unused_patterns.push_back(rule.where + ": '" + rule.pattern +
                                             "' matches no layer of " + side);
    }
  }
}

}  // namespace sparsebit::quant
