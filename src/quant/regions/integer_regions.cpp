#include "sparsebit/quant/regions/integer_regions.h"

#include "sparsebit/quant/regions/clipping.h"
#include "sparsebit/quant/regions/node_parts.h"
#include "sparsebit/quant/regions/operator_rules.h"

#include <algorithm>

namespace sparsebit::quant {

using fx::Node;
using platforms::IntegerForm;
using platforms::OperatorRule;
using platforms::PlacementPolicy;

namespace {

bool exceeds(const platforms::TensorLimits& limits, int64_t bits) {
  return !limits.bits.empty() && bits > *std::max_element(limits.bits.begin(), limits.bits.end());
}

}  // namespace

const Quantizer* IntegerRegions::quantizer_at(const Node& node) const {
  const Quantizer* quantizer = find_quantizer(module_, node);
  return quantizer && !quantizer->is_off_for_good() ? quantizer : nullptr;
}

bool IntegerRegions::computes_nothing(const Node& node, const fx::OperatorCall& call) const {
  if (part_of(node) || !gives_floats(node) || is_fused(node, call)) return true;
  if (is_clipped_by_rounding(node, call) && float_before(node)) return true;  // it is not exported
  const OperatorRule* rule = find_rule(platform_, *call.op);
  if (rule && rule->form == IntegerForm::Passing && rule->onnx.empty()) return true;
  static const std::vector<std::string> copies = {"contiguous", "clone", "identity", "detach",
                                                  "dropout"};
  return std::find(copies.begin(), copies.end(), call.op->name) != copies.end();
}

/// With operator_inputs, whether an activation function is fused with the operator before it.
bool IntegerRegions::is_fused(const Node& node, const fx::OperatorCall& call) const {
  const PlacementPolicy& policy = platform_.placement;
  const bool is_unary = node.inputs().size() == 1;
  if (policy.kind != PlacementPolicy::Kind::OperatorInputs || !is_unary) return false;
  const Node& input = *node.inputs().front();
  const fx::Spelling* before = fx::find_spelling(input, module_);
  if (!before) return false;
  const OperatorRule* rule = find_rule(platform_, *call.op);
  if (rule && contains(rule->fused_with, before->op->row())) return true;
  const bool with_layer = contains(policy.fuses, call.op->row()) && before->op->weight;
  const bool with_any =
      contains(policy.pass_through, call.op->row()) && find_rule(platform_, *before->op);
  return (with_layer || with_any) && input.users().size() == 1;
}

/// Whether the edge is inside a fused operator and stays float.
bool IntegerRegions::is_fused_edge(const OperatorRule& rule, const Node& operand) const {
  const fx::Spelling* spelling = fx::find_spelling(operand, module_);
  if (!spelling) return false;
  const bool ends_layer = spelling->op->weight && operand.users().size() == 1;
  return contains(rule.fused_with, spelling->op->row()) || (rule.residual && ends_layer);
}

const Quantizer* IntegerRegions::quantizer_behind(const Node& operand) const {
  if (const Quantizer* quantizer = quantizer_at(operand)) return quantizer;
  const PlacementPolicy& policy = platform_.placement;
  if (policy.kind == PlacementPolicy::Kind::IntegerRegions) return nullptr;
  const fx::Spelling* spelling = fx::find_spelling(operand, module_);
  if (!spelling || operand.inputs().empty()) return nullptr;
  const std::string& op = spelling->op->row();
  const bool keeps = spelling->op->view || contains(policy.keeps_grid, op);
  if (!keeps && !contains(policy.transparent, op)) return nullptr;
  const Quantizer* first = nullptr;
  for (const Node* input : operand.inputs()) {
    const Quantizer* found = quantizer_behind(*input);
    if (!found) return nullptr;
    if (!first) first = found;
  }
  return first;
}

bool IntegerRegions::is_clipped_by_rounding(const Node& node, const fx::OperatorCall& call) const {
  const auto bounds = clip_bounds_of(call);
  if (!bounds || node.users().size() != 1 || fx::mutates_input(node, module_)) return false;
  const Quantizer* quantizer = quantizer_at(**node.users().begin());
  return quantizer && quantizer->is_calibrated() && rounding_clips(*bounds, *quantizer);
}

std::optional<Decision> IntegerRegions::why_float(const Node& node,
                                                  const fx::OperatorCall& call) const {
  if (std::optional<Decision> decision = float_by_rule(platform_, node, call)) return decision;
  const OperatorRule& rule = *find_rule(platform_, *call.op);
  if (rule.form == IntegerForm::Clipping) {
    if (!is_clipped_by_rounding(node, call))
      return Decision{DecisionKind::ClippingDiffers, node.name()};
    return float_before(node);
  }
  const bool in_regions = platform_.placement.kind == PlacementPolicy::Kind::IntegerRegions;
  const bool needs_tensors = in_regions || rule.all_tensors;
  std::vector<Node*> operands;
  for (const auto& [name, value] : integer_arguments(call, rule)) {
    const std::vector<Node*> inside = nodes_in(*value);
    if (inside.empty() && needs_tensors)
      return Decision{DecisionKind::NotAnActivation, node.name(), name};
    operands.insert(operands.end(), inside.begin(), inside.end());
  }
  for (const Node* operand : operands) {
    if (is_fused_edge(rule, *operand)) continue;
    if (std::optional<Decision> decision = float_operand(node, *operand)) return decision;
  }
  if (operands.empty() && rule.form != IntegerForm::Lookup)
    return Decision{DecisionKind::ConstantInputs, node.name()};
  if (rule.form == IntegerForm::Layer || rule.form == IntegerForm::Lookup) {
    if (std::optional<Decision> decision = float_weight(node, call)) return decision;
  }
  return in_regions && rule.needs_integer_result ? float_result(node, rule, operands, node)
                                                 : std::nullopt;
}

/// A clipping is integer if its producer is: it is omitted.
std::optional<Decision> IntegerRegions::float_before(const Node& clipping) const {
  const Node& before = *clipping.inputs().front();
  const auto call = fx::resolve(before, module_);
  if (call && !why_float(before, *call)) return std::nullopt;
  const Node& value = quantizer_at(before) ? *before.inputs().front() : before;
  return Decision{DecisionKind::InputIsFloat, clipping.name(), value.name()};
}

std::optional<Decision> IntegerRegions::float_operand(const Node& node, const Node& operand) const {
  const bool is_input = operand.op() == fx::Opcode::Placeholder;
  if (is_input && !platform_.placement.inputs) return std::nullopt;  // the target converts it
  const Quantizer* quantizer = quantizer_behind(operand);
  if (!quantizer) return Decision{DecisionKind::InputNotQuantized, node.name(), operand.name()};
  if (exceeds(platform_.activations, quantizer->spec().bits))
    return Decision{DecisionKind::InputBits, node.name(), operand.name()};
  if (quantizer->spec().is_per_channel())
    return Decision{DecisionKind::InputPerChannel, node.name(), operand.name()};
  return std::nullopt;
}

std::optional<Decision> IntegerRegions::float_weight(const Node& node,
                                                     const fx::OperatorCall& call) const {
  const fx::Value& weight = call.args[call.op->weight->argument];
  const Quantizer* quantizer = weight.is_node() ? quantizer_at(weight.node()) : nullptr;
  if (!quantizer) return Decision{DecisionKind::WeightIsFloat, node.name()};
  if (!platform_.weights.groups && quantizer->spec().group_size > 0)
    return Decision{DecisionKind::WeightGroups, node.name()};
  if (exceeds(platform_.weights, quantizer->spec().bits))
    return Decision{DecisionKind::WeightBits, node.name()};
  if (platform_.bias == platforms::BiasRule::Float || !call.args.has("bias")) return std::nullopt;
  const fx::Value& bias = call.args["bias"];
  const bool fine = bias.is_none() || (bias.is_node() && quantizer_at(bias.node()));
  return fine ? std::nullopt : std::optional(Decision{DecisionKind::BiasIsFloat, node.name()});
}

/// All outputs must be quantized, with the scale of the inputs if integers are only copied.
std::optional<Decision> IntegerRegions::float_result(const Node& node, const OperatorRule& rule,
                                                     const std::vector<Node*>& operands,
                                                     const Node& result) const {
  const bool copies = rule.form == IntegerForm::Passing;
  for (const Node* user : result.users()) {
    if (part_of(*user) == &result) {
      if (auto decision = float_result(node, rule, operands, *user)) return decision;
      continue;
    }
    const Quantizer* quantizer = quantizer_at(rounds_for(*user));
    const bool has_kernel = quantizer && !quantizer->spec().is_per_channel() &&
                            !exceeds(platform_.activations, quantizer->spec().bits);
    if (!has_kernel) return Decision{DecisionKind::ResultNotQuantized, node.name(), user->name()};
    for (const Node* operand : operands) {
      if (copies && quantizer_at(*operand) != quantizer)
        return Decision{DecisionKind::ScalesDiffer, node.name(), user->name()};
    }
  }
  return std::nullopt;
}

/// The quantizer node of a consumer: the consumer itself, or the one after an omitted clipping.
const Node& IntegerRegions::rounds_for(const Node& user) const {
  if (quantizer_at(user)) return user;
  const auto call = fx::resolve(user, module_);
  return call && is_clipped_by_rounding(user, *call) ? **user.users().begin() : user;
}

}  // namespace sparsebit::quant
