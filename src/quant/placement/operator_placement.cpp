#include "quant/placement/placement_builder.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace sparsebit::quant {
namespace {

using fx::Node;
using platforms::IntegerForm;
using platforms::OperatorRule;
using platforms::PlacementPolicy;
using Names = std::vector<std::string>;
using Nodes = std::vector<Node*>;

class OperatorPlacement : public PlacementBuilder {
 public:
  OperatorPlacement(fx::GraphModule& module, const QConfig& config)
      : PlacementBuilder(module, config), policy_(platform_.placement) {}

  Placement place() {
    find_last_layers();
    for_each_call([this](Node& node, const fx::OperatorCall& call) { place_call(node, call); });
    place_unknown();
    if (policy_.outputs)
      std::for_each(listed_.begin(), listed_.end(), [&](Node* n) { end_at(*n); });
    place_ends_of_graph();
    add_points();
    return finish();
  }

 private:
  // --- operators -------------------------------------------------------------------------------

  void place_call(Node& node, const fx::OperatorCall& call) {
    if (is_excluded(node, call)) return decide_float(node, DecisionKind::ExcludedByUser);
    const std::optional<OperatorRule> rule = rule_for(node, call);
    if (!rule) {
      if (gives_floats(node)) decide_float(*float_by_rule(platform_, node, call));
      return;
    }
    if (!place_weight(node, call, *rule)) return;
    if (policy_.inputs && !place_inputs(node, call, *rule)) return;
    listed_.push_back(&node);
  }

  /// The platform's rule, or one for an operator that the user added; nullopt if there is none.
  std::optional<OperatorRule> rule_for(const Node& node, const fx::OperatorCall& call) const {
    const OperatorRule* rule = find_rule(platform_, *call.op);
    const bool fits = rule && !float_by_rule(platform_, node, call);
    if (fits) return *rule;
    if (!is_added(node, call)) return std::nullopt;
    OperatorRule all{.form = call.op->weight ? IntegerForm::Layer : IntegerForm::Scaling};
    for (const auto& parameter : call.op->schema.parameters()) {
      const bool is_weight = call.op->weight && (parameter.name == call.op->weight->argument ||
                                                 parameter.name == "bias");
      if (!is_weight) all.inputs.push_back(parameter.name);
    }
    return all;
  }

  /// False if the layer stays float because of its weight.
  bool place_weight(Node& node, const fx::OperatorCall& call, const OperatorRule& rule) {
    const bool has_weight = rule.form == IntegerForm::Layer || rule.form == IntegerForm::Lookup;
    if (!has_weight || !call.op->weight) return true;
    if (!has_constant_weight(call)) {
      decide_float(node, DecisionKind::WeightComputed);
      return false;
    }
    TensorConfig config = config_of(Target::Weight, node);
    if (is_first_or_last(node)) config.quantizer.bits = policy_.first_and_last_bits;
    add_weight(node, call, rule, config);
    add_bias(node, call, config);
    return true;
  }

  /// Modules that are C++ code have no rule; their inputs are quantized if the user added them.
  void place_unknown() {
    for (Node& node : module_.graph().nodes()) {
      if (!is_call(node) || fx::find_spelling(node, module_) || !is_added_unknown(node)) continue;
      if (is_skipped(node) || !policy_.inputs) continue;
      std::erase_if(placement_.floats, [&](const Decision& d) { return d.node == node.name(); });
      for (Node* input : node.inputs()) {
        if (may_be_floats(*input)) want(*input, node, {});
      }
    }
  }

  // --- inputs ----------------------------------------------------------------------------------

  /// False if the inputs stay float.
  bool place_inputs(Node& node, const fx::OperatorCall& call, const OperatorRule& rule) {
    Nodes values;
    bool all_tensors = true;
    for (const auto& [name, value] : integer_arguments(call, rule)) {
      const Nodes found = nodes_in(*value);
      all_tensors = all_tensors && !found.empty();
      for (Node* operand : found) {
        const bool is_new = std::find(values.begin(), values.end(), operand) == values.end();
        if (is_new && may_be_floats(*operand)) values.push_back(operand);
      }
    }
    if (values.empty()) return true;
    if (fx::mutates_input(node, module_)) {
      decide_float(node, DecisionKind::WritesInput);
      return false;
    }
    if (std::optional<Decision> decision = float_inputs(node, rule, values, all_tensors)) {
      decide_float(std::move(*decision));
      return false;
    }
    if (rule.residual) return place_residual(node, rule, values);
    for (Node* value : values) {
      if (!runs_as_one(node, *value, rule)) want(*value, node, rule);
    }
    return true;
  }

  /// Why the inputs stay float; nullopt if they are quantized.
  std::optional<Decision> float_inputs(const Node& node, const OperatorRule& rule,
                                       const Nodes& values, bool all_tensors) const {
    const auto decision = [&](DecisionKind kind, std::string other = "") {
      return Decision{kind, node.name(), std::move(other)};
    };
    if (rule.all_tensors && !all_tensors) return decision(DecisionKind::ConstantOperand);
    if ((rule.joins || rule.residual) && values.size() < 2)
      return decision(DecisionKind::OneActivation);
    if (rule.on_request && !config_.quantize_add) return decision(DecisionKind::SumNotRequested);
    for (const Node* value : values) {
      if (contains(rule.not_after, operator_of(*value)))
        return decision(DecisionKind::AfterLookup, value->name());
    }
    return std::nullopt;
  }

  /// Whether the edge has no quantizer because the target fuses both operators.
  bool runs_as_one(const Node& node, const Node& value, const OperatorRule& rule) {
    if (!config_.schedule.disable_unnecessary_quant) return false;
    if (!contains(rule.fused_with, operator_of(value))) return false;
    const bool is_plain_sum = operator_of(value) != "add" || value.inputs().size() == 2;
    if (is_plain_sum) decide_float(node, DecisionKind::FusedWith, value.name());
    return is_plain_sum;
  }

  /// Of a residual sum, the branch that ends with a layer stays float: the sum is fused with the
  /// layer.
  bool place_residual(Node& node, const OperatorRule& rule, const Nodes& values) {
    const bool first = ends_with_layer(*values[0]), second = ends_with_layer(*values[1]);
    if (!first && !second) {
      decide_float(node, DecisionKind::NoLayerBranch);
      return false;
    }
    want(first && !second ? *values[1] : *values[0], node, rule);
    return true;
  }

  bool ends_with_layer(const Node& value) const {
    const fx::Spelling* spelling = fx::find_spelling(value, module_);
    return spelling && spelling->op->weight && value.users().size() == 1;
  }

  // --- outputs ---------------------------------------------------------------------------------

  /// Quantizes the output of an operator, after the operators that are fused with it.
  void end_at(Node& node) {
    Node& result = behind_fused(node);
    for (Node* user : result.users()) {
      if (contains(policy_.pass_through, operator_of(*user))) {
        want_result(*user, node);
      } else if (!is_merged(*user, result)) {
        want_result(result, node);
      }
    }
  }

  Node& behind_fused(Node& node) const {
    const fx::Spelling* spelling = fx::find_spelling(node, module_);
    const bool is_layer = spelling && spelling->op->weight;
    if (!is_layer || node.users().size() != 1) return node;
    Node& user = **node.users().begin();
    return contains(policy_.fuses, operator_of(user)) ? user : node;
  }

  bool is_merged(const Node& user, const Node& value) const {
    const fx::Spelling* spelling = fx::find_spelling(user, module_);
    const OperatorRule* rule = spelling ? find_rule(platform_, *spelling->op) : nullptr;
    return rule && contains(rule->fused_with, operator_of(value));
  }

  void place_ends_of_graph() {
    for (Node* input : module_.graph().placeholders()) {
      if (policy_.graph_inputs && may_be_floats(*input) && !input->users().empty())
        want_result(*input, **input->users().begin());
    }
    const Node* output = module_.graph().output_node();
    const bool quantized = policy_.graph_outputs == PlacementPolicy::GraphOutputs::Quantized;
    if (!output || !quantized) return;
    for (Node* result : output->inputs()) {
      if (is_call(*result) && may_be_floats(*result) && !part_of(*result))
        want_result(*result, *result);
    }
  }

  // --- points ----------------------------------------------------------------------------------

  /// A value to be quantized, and the consumer that needs it.
  struct Wanted {
    Node* value;
    Node* consumer;  // null: all consumers
    TensorConfig config;
  };

  void want(Node& value, Node& consumer, const OperatorRule& rule) {
    if (contains(policy_.transparent, operator_of(value))) {
      for (Node* input : value.inputs()) want(*input, value, rule);
      return;
    }
    if (stays_on_grid(value) || stays_float(value)) return;
    TensorConfig config = config_of(Target::Activation, consumer);
    if (rule.bits > 0) config.quantizer.bits = rule.bits;
    if (is_first_or_last(consumer)) config.quantizer.bits = policy_.first_and_last_bits;
    wanted_.push_back({&value, &consumer, config});
  }

  void want_result(Node& value, Node& by) {
    if (!may_be_floats(value)) return;
    wanted_.push_back({&value, nullptr, config_of(Target::Activation, by)});
  }

  /// A max pool keeps the scale of its input, so a layer that consumes its output needs no
  /// quantizer.
  bool stays_on_grid(const Node& value) const {
    if (!contains(policy_.keeps_grid, operator_of(value))) return false;
    return std::any_of(value.users().begin(), value.users().end(), [&](const Node* user) {
      const fx::Spelling* spelling = fx::find_spelling(*user, module_);
      return spelling && (spelling->op->weight || spelling->op->multiplies_operands);
    });
  }

  /// Outputs of the model stay float, unless a layer consumes them as well.
  bool stays_float(const Node& value) const {
    if (policy_.graph_outputs != PlacementPolicy::GraphOutputs::Float) return false;
    const auto& users = value.users();
    const bool is_result = std::any_of(users.begin(), users.end(), [](const Node* user) {
      return user->op() == fx::Opcode::Output;
    });
    const bool feeds_layer = std::any_of(users.begin(), users.end(), [&](const Node* user) {
      const fx::Spelling* spelling = fx::find_spelling(*user, module_);
      return spelling && spelling->op->weight;
    });
    return is_result && !feeds_layer && is_call(value);
  }

  void add_points() {
    mark_unsigned();
    if (policy_.readers == PlacementPolicy::Readers::Quantized) {
      for (const Wanted& wanted : wanted_) add_point(*wanted.value, wanted);
      return;
    }
    for (Node& value : module_.graph().nodes()) {
      const auto first = std::find_if(wanted_.begin(), wanted_.end(),
                                      [&](const Wanted& w) { return w.value == &value; });
      if (first != wanted_.end()) add_for_all_readers(value, *first);
    }
  }

  void add_point(Node& value, const Wanted& wanted) {
    if (!wanted.consumer) return add_for_all_readers(value, wanted);
    add_once(value, *wanted.consumer, wanted.config);
  }

  void add_once(Node& value, Node& reader, const TensorConfig& config) {
    if (placed_.insert({&value, &reader}).second)
      placement_.activations.push_back({&value, &reader, config});
  }

  /// Consumers that need quantization use their own settings; the others use those of the first.
  void add_for_all_readers(Node& value, const Wanted& first) {
    for (Node* reader : value.users()) {
      const auto own = std::find_if(wanted_.begin(), wanted_.end(), [&](const Wanted& w) {
        return w.value == &value && w.consumer == reader;
      });
      add_once(value, *reader, own == wanted_.end() ? first.config : own->config);
    }
  }

  // --- unsigned integers -----------------------------------------------------------------------

  /// Makes symmetric integers unsigned where values cannot be negative.
  void mark_unsigned() {
    if (policy_.unsigned_after.empty()) return;
    for (Wanted& wanted : wanted_) {
      const bool symmetric = wanted.config.scheme->symmetry == Symmetry::Symmetric;
      if (!symmetric || wanted.config.quantizer.disable || !is_never_negative(*wanted.value))
        continue;
      const int64_t highest = (int64_t{1} << wanted.config.quantizer.bits) - 1;
      wanted.config.quantizer.range = IntegerRange{0, highest};
    }
  }

  bool is_never_negative(const Node& value) const {
    const std::string& op = operator_of(value);
    if (contains(policy_.unsigned_after, op)) return true;
    const bool follows =
        contains(policy_.unsigned_follows, op) || contains(policy_.transparent, op);
    const auto& inputs = value.inputs();
    return follows && !inputs.empty() &&
           std::all_of(inputs.begin(), inputs.end(), [&](const Node* input) {
             return input->op() != fx::Opcode::GetAttr && is_never_negative(*input);
           });
  }

  // --- first and last layers -------------------------------------------------------------------

  /// Finds the consumers of the model's inputs, and the layer whose output the model returns,
  /// directly or through functions without a weight.
  void find_last_layers() {
    if (policy_.first_and_last_bits == 0) return;
    for (const Node* input : module_.graph().placeholders())
      ends_.insert(input->users().begin(), input->users().end());
    const Node* output = module_.graph().output_node();
    const bool single = output && !output->args().empty() && output->args()[0].is_node();
    if (!single) return;
    const Node* last = &output->args()[0].node();
    while (is_call(*last) && !has_weight(*last) && last->inputs().size() == 1)
      last = last->inputs().front();
    ends_.insert(last);
  }

  bool has_weight(const Node& node) const {
    const fx::Spelling* spelling = fx::find_spelling(node, module_);
    return spelling && spelling->op->weight;
  }

  bool is_first_or_last(const Node& node) const { return ends_.contains(&node); }

  /// The row() of the operator that computes a value; empty if it is not a call of a known
  /// operator.
  const std::string& operator_of(const Node& value) const {
    static const std::string none;
    const fx::Spelling* spelling = fx::find_spelling(value, module_);
    return spelling ? spelling->op->row() : none;
  }

  const PlacementPolicy& policy_;
  Nodes listed_;  // calls that are quantized, in graph order
  std::vector<Wanted> wanted_;
  std::unordered_set<const Node*> ends_;
  std::set<std::pair<const Node*, const Node*>> placed_;  // value and consumer
};

}  // namespace

Placement place_at_operators(fx::GraphModule& module, const QConfig& config) {
  return OperatorPlacement(module, config).place();
}

}  // namespace sparsebit::quant
