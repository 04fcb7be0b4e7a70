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
  note_unused(config_.activation_specific, "A");
  note_unused_selection();
  return std::move(placement_);
}

void PlacementBuilder::for_each_call(
    const std::function<void(Node&, const fx::OperatorCall&)>& place) {
  for (Node& node : module_.graph().nodes()) {
    if (!is_call(node)) continue;
    const std::optional<fx::OperatorCall> call = fx::resolve(node, module_);
    if (is_skipped(node)) {
      decide_float(node, DecisionKind::SkippedModule);
    } else if (!call) {
      decide_float(float_if_uncomputable(node).value_or(float_without_operator(node)));
    } else if (std::optional<Decision> decision = float_if_uncomputable(node)) {
      decide_float(std::move(*decision));
    } else {
      place(node, *call);
    }
  }
}

/// Operators with subgraphs, such as onnx.If, are known although no operator table has them.
Decision PlacementBuilder::float_without_operator(const Node& node) {
  if (node.kwarg("_opset")) return {DecisionKind::NoIntegerForm, node.name(), node.target()};
  return {DecisionKind::UnknownOperator, node.name()};
}

std::optional<Decision> PlacementBuilder::float_if_uncomputable(const Node& node) const {
  const auto it = uncomputable_.find(&node);
  if (it == uncomputable_.end()) return std::nullopt;
  if (it->second == &node) return Decision{DecisionKind::UnknownOperator, node.name()};
  return Decision{DecisionKind::BehindUnknown, node.name(), it->second->name()};
}

namespace {

/// Whether a pattern matches the path of the node's module or of a module around it.
bool is_inside(const Node& node, const std::string& pattern) {
  const std::string& path = node.module_path();
  for (size_t end = path.find('.');; end = path.find('.', end + 1)) {
    if (!path.empty() && glob_match(path.substr(0, end), pattern)) return true;
    if (end == std::string::npos) return false;
  }
}

/// Whether a pattern matches is_inside(), the node name, or the name in the model file.
bool is_layer(const Node& node, const std::string& pattern) {
  return is_inside(node, pattern) || glob_match(node.name(), pattern) ||
         glob_match(node.source_name(), pattern);
}

/// The type of the module that a node calls, or its target.
std::string called_name(const Node& node, const fx::Module& root) {
  const fx::Module* module =
      node.op() == fx::Opcode::CallModule ? root.find(node.target()) : nullptr;
  return module ? module->type() : node.target();
}

/// Whether a list has the canonical name or a spelling of the operator.
bool names_operator(const std::vector<std::string>& names, const fx::Operator& op) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const fx::Spelling* spelling = fx::operators().find(name);
    return name == op.name || (spelling && spelling->op == &op);
  });
}

}  // namespace

bool PlacementBuilder::is_excluded(const Node& node, const fx::OperatorCall& call) const {
  const OperatorSelection& asked = config_.selection;
  if (contains(asked.additional_nodes, node.name())) return false;
  const bool by_module =
      std::any_of(asked.excluded_modules.begin(), asked.excluded_modules.end(),
                  [&](const std::string& pattern) { return is_inside(node, pattern); });
  const bool by_layer =
      std::any_of(asked.excluded_layers.begin(), asked.excluded_layers.end(),
                  [&](const std::string& pattern) { return is_layer(node, pattern); });
  return by_module || by_layer || contains(asked.excluded_nodes, node.name()) ||
         names_operator(asked.excluded_operators, *call.op);
}

bool PlacementBuilder::is_added(const Node& node, const fx::OperatorCall& call) const {
  return contains(config_.selection.additional_nodes, node.name()) ||
         names_operator(config_.selection.additional_operators, *call.op);
}

bool PlacementBuilder::is_added_unknown(const Node& node) const {
  return contains(config_.selection.additional_nodes, node.name()) ||
         contains(config_.selection.additional_operators, called_name(node, module_));
}

TensorConfig PlacementBuilder::config_of(Target target, const Node& node) {
  const LayerNames names{node.module_path(), node.name(), node.source_name()};
  return config_.of_layer(target, names, &used_);
}

void PlacementBuilder::decide_float(const Node& node, DecisionKind kind, std::string other) {
  decide_float(Decision{kind, node.name(), std::move(other)});
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

bool PlacementBuilder::has_constant_weight(const fx::OperatorCall& call) {
  return is_constant(call.args[call.op->weight->argument]);
}

void PlacementBuilder::add_weight(Node& node, const fx::OperatorCall& call,
                                  const platforms::OperatorRule& rule, const TensorConfig& config) {
  const fx::WeightFacts& facts = *call.op->weight;
  const fx::Value& weight = call.args[facts.argument];
  const int64_t axis = rule.weight_axis.value_or(facts.output_axis);
  const at::Tensor* tensor =
      weight.is_tensor() ? &weight.tensor() : module_.find_tensor(weight.node().target());
  if (tensor) check_groups(node, *tensor, axis, config);
  placement_.weights.push_back({&node, facts.argument, axis, config});
}

void PlacementBuilder::add_bias(Node& node, const fx::OperatorCall& call,
                                const TensorConfig& of_weight) {
  const bool has_bias = call.args.has("bias") && is_constant(call.args["bias"]);
  const bool stays_float = platform_.bias == platforms::BiasRule::Float;
  if (!has_bias || (stays_float && !config_.schedule.bias_correction)) return;
  if (platform_.bias == platforms::BiasRule::Quantized) {
    placement_.weights.push_back({&node, "bias", 0, of_weight});
    return;
  }
  TensorConfig config;
  const Granularity of_scales = of_weight.scheme->granularity;
  config.scheme =
      QuantScheme{stays_float ? Granularity::PerTensor : of_scales, Symmetry::Symmetric};
  config.quantizer.bits = kBitsOfBias;
  placement_.weights.push_back({&node, "bias", 0, config, Target::Bias});
}

void PlacementBuilder::check_groups(const Node& node, const at::Tensor& weight, int64_t axis,
                                    const TensorConfig& config) {
  const int64_t size = config.quantizer.group_size;
  if (size == 0 || config.quantizer.disable) return;
  const bool has_groups = axis == 0 && weight.dim() > 1;
  if (!has_groups || weight.size(1) % size != 0) misfits_.push_back(&node);
}

/// Reports all layers that GROUP_SIZE does not fit, as rules to be pasted into a config.
void PlacementBuilder::check_no_misfits() const {
  if (misfits_.empty()) return;
  Error error(ErrorKind::InvalidArgument,
              c10::str("W.QUANTIZER.GROUP_SIZE does not divide the inputs of layer '",
                       misfits_.front()->name(),
                       "', or its weight cannot be grouped; to disable "
                       "groups for all such layers, add to W:"));
  error.add_context("SPECIFIC:");
  error.add_context("-");
  for (const Node* node : misfits_)
    error.add_context("  \"" + node->name() + "\": [\"QUANTIZER.GROUP_SIZE\", 0]");
  throw error;
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

/// Reports names and patterns of the user's selection that match nothing.
void PlacementBuilder::note_unused_selection() {
  using Matches = std::function<bool(const Node&, const std::string&)>;
  const auto note = [&](const std::vector<std::string>& names, const char* what,
                        const Matches& matches) {
    const auto& nodes = module_.graph().nodes();
    for (const std::string& name : names) {
      const bool used = std::any_of(nodes.begin(), nodes.end(),
                                    [&](const Node& node) { return matches(node, name); });
      if (!used) placement_.unused_patterns.push_back(c10::str("'", name, "' matches no ", what));
    }
  };
  const auto is_node = [](const Node& node, const std::string& name) {
    return node.name() == name;
  };
  const auto calls = [&](const Node& node, const std::string& name) {
    const fx::Spelling* spelling = fx::find_spelling(node, module_);
    return spelling ? names_operator({name}, *spelling->op)
                    : is_call(node) && name == called_name(node, module_);
  };
  const OperatorSelection& asked = config_.selection;
  note(asked.additional_operators, "operator of the model", calls);
  note(asked.excluded_operators, "operator of the model", calls);
  note(asked.additional_nodes, "node", is_node);
  note(asked.excluded_nodes, "node", is_node);
  note(asked.excluded_modules, "module", is_inside);
  note(asked.excluded_layers, "layer", is_layer);
}

}  // namespace sparsebit::quant
