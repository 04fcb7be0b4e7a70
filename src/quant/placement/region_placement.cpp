#include "quant/placement/faster_as_float.h"
#include "quant/placement/placement_builder.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/memory_groups.h"
#include "sparsebit/quant/regions/clipping.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace sparsebit::quant {
namespace {

using fx::Node;
using platforms::IntegerForm;
using platforms::OperatorRule;
using Nodes = std::vector<Node*>;

/// A node that could compute with integers.
struct Candidate {
  Node* node;
  const OperatorRule* rule;
  fx::OperatorCall call;
  Nodes operands = {};  // activations it would read as integers
  bool able = true;     // its inputs allow integers
  bool kept = false;    // it will be integer

  bool is(IntegerForm form) const { return rule->form == form; }
  /// Layers and matrix products save time with integers; other operators only connect them.
  bool pays() const { return is(IntegerForm::Layer) || is(IntegerForm::Product); }
};

class RegionPlacement : public PlacementBuilder {
 public:
  RegionPlacement(fx::GraphModule& module, const QConfig& config)
      : PlacementBuilder(module, config), memory_(module) {}

  Placement place() {
    for (Node& node : module_.graph().nodes()) find_candidate(node);
    for (Candidate& candidate : candidates_) check_around(candidate);
    keep_what_pays();
    leave_what_is_faster_as_float();
    for (Candidate& candidate : candidates_) mark_values(candidate);
    for (Candidate& candidate : candidates_) {
      if (candidate.kept) share_scales(candidate);
    }
    place_activations();
    for (Candidate& candidate : candidates_) {
      if (candidate.kept && candidate.is(IntegerForm::Layer)) place_layer(candidate);
    }
    note_additions();
    return finish();
  }

 private:
  /// Reports additions of the user: a region only has operators with integer kernels.
  void note_additions() {
    const OperatorSelection& asked = config_.selection;
    for (const auto* names : {&asked.additional_operators, &asked.additional_nodes}) {
      for (const std::string& name : *names)
        placement_.unused_patterns.push_back("'" + name + "' cannot be added: " + platform_.name +
                                             " only quantizes operators with integer kernels");
    }
  }

  // --- which nodes ----------------------------------------------------------------------------

  void find_candidate(Node& node) {
    if (!is_call(node)) return;
    const std::optional<fx::OperatorCall> call = fx::resolve(node, module_);
    if (std::optional<Decision> decision = float_if_uncomputable(node))
      return decide_float(std::move(*decision));
    if (!call) return decide_float(float_without_operator(node));
    if (call->op->name == "getitem" && part_of(node)) return;  // see source_of()
    if (std::optional<Decision> decision = float_by_rule(platform_, node, *call)) {
      if (gives_floats(node)) decide_float(std::move(*decision));
      return;
    }
    Candidate candidate{&node, find_rule(platform_, *call->op), *call};
    if (std::optional<Decision> decision = reason_for_float(candidate))
      return decide_float(std::move(*decision));
    by_node_[&node] = candidates_.size();
    if (candidate.pays()) read_.insert(candidate.operands.begin(), candidate.operands.end());
    candidates_.push_back(std::move(candidate));
  }

  /// Checks the inputs of a candidate. Called in graph order: its producers are checked already.
  void check_around(Candidate& candidate) {
    if (candidate.pays()) return;
    std::optional<Decision> decision =
        candidate.is(IntegerForm::Clipping) ? float_clipping(candidate) : float_follower(candidate);
    candidate.able = !decision;
    if (decision) decide_float(std::move(*decision));
  }

  static Decision decision(const Candidate& candidate, DecisionKind kind, std::string other = "") {
    return {kind, candidate.node->name(), std::move(other)};
  }

  /// nullopt if it may be integer. Fills the operands.
  std::optional<Decision> reason_for_float(Candidate& candidate) {
    const Node& node = *candidate.node;
    if (is_skipped(node)) return decision(candidate, DecisionKind::SkippedModule);
    if (is_excluded(node, candidate.call)) return decision(candidate, DecisionKind::ExcludedByUser);
    if (memory_.is_written(node) || fx::mutates_input(node, module_))
      return decision(candidate, DecisionKind::WrittenInPlace);
    for (const auto& [name, value] : integer_arguments(candidate.call, *candidate.rule)) {
      if (!add_operands(*value, candidate.operands))
        return decision(candidate, DecisionKind::NotAnActivation, name);
    }
    if (config_of(Target::Activation, node).quantizer.disable)
      return decision(candidate, DecisionKind::ActivationDisabled);
    return candidate.is(IntegerForm::Layer) ? float_layer(candidate) : std::nullopt;
  }

  static bool add_operands(const fx::Value& value, Nodes& operands) {
    if (value.is_sequence()) {
      const auto& items = value.items();
      return std::all_of(items.begin(), items.end(),
                         [&](const fx::Value& item) { return add_operands(item, operands); });
    }
    const bool is_activation =
        value.is_node() && !is_constant(value) && may_be_floats(value.node());
    if (is_activation) operands.push_back(&value.node());
    return is_activation;
  }

  std::optional<Decision> float_layer(const Candidate& candidate) {
    if (!has_constant_weight(candidate.call))
      return decision(candidate, DecisionKind::WeightComputed);
    const fx::Value& bias = candidate.call.args["bias"];
    if (!bias.is_none() && !is_constant(bias))
      return decision(candidate, DecisionKind::BiasComputed);
    if (config_of(Target::Weight, *candidate.node).quantizer.disable)
      return decision(candidate, DecisionKind::WeightDisabled);
    return std::nullopt;
  }

  /// A clipping is omitted if its producer's output is quantized; else it stays float.
  std::optional<Decision> float_clipping(const Candidate& candidate) const {
    if (!clip_bounds_of(candidate.call)) return decision(candidate, DecisionKind::BoundsComputed);
    const Node& input = *candidate.operands.front();
    const Candidate* before = candidate_at(input);
    const bool rounds = before && (before->pays() || before->is(IntegerForm::Scaling));
    if (!rounds) return decision(candidate, DecisionKind::InputIsFloat, input.name());
    if (input.users().size() != 1)
      return decision(candidate, DecisionKind::InputUsedElsewhere, input.name());
    return std::nullopt;
  }

  /// Other operators need operands that are integers already: computed with integers, or quantized
  /// for a layer or product.
  std::optional<Decision> float_follower(const Candidate& candidate) const {
    for (const Node* operand : candidate.operands) {
      const Node& source = source_of(*operand);
      const bool ready = candidate_at(source) || read_.contains(operand);
      if (source.op() != fx::Opcode::Placeholder && !ready)
        return decision(candidate, DecisionKind::InputIsFloat, source.name());
    }
    return std::nullopt;
  }

  const Candidate* candidate_at(const Node& node) const {
    const auto it = by_node_.find(&node);
    const bool found = it != by_node_.end() && candidates_[it->second].able;
    return found ? &candidates_[it->second] : nullptr;
  }

  // --- which of them pay -------------------------------------------------------------------------

  /// In reverse order: keeps layers and products, and operators with integer consumers.
  void keep_what_pays() {
    for (auto it = candidates_.rbegin(); it != candidates_.rend(); ++it) {
      if (!it->able) continue;
      const bool feeds_integers = has_kept_user(*it->node);
      it->kept =
          it->pays() || feeds_integers || (it->is(IntegerForm::Clipping) && rounds_before(*it));
    }
    for (const Candidate& candidate : candidates_) {
      if (candidate.able && !candidate.kept)
        decide_float(*candidate.node, DecisionKind::NoIntegerReader);
    }
  }

  /// Makes nodes float where integers, including the conversions, would take longer.
  void leave_what_is_faster_as_float() {
    if (!config_.schedule.float_where_faster || platform_.costs.kernels.empty()) return;
    const KernelTimes times(module_, platform_.costs);
    std::vector<IntegerOption> options;
    std::vector<Candidate*> kept;
    for (Candidate& candidate : candidates_) {
      if (!candidate.able || !candidate.kept) continue;
      kept.push_back(&candidate);
      options.push_back({.node = candidate.node,
                         .operands = candidate.operands,
                         .time = times.of(*candidate.node, candidate.call),
                         .is_clipping = candidate.is(IntegerForm::Clipping),
                         .may_give_floats = !candidate.rule->needs_integer_result});
    }
    if (time_as_floats(options) < times.shortest_network()) return;
    const std::vector<bool> stays = fastest_as_integers(options, times);
    for (size_t i = 0; i < kept.size(); ++i) {
      if (stays[i]) continue;
      kept[i]->kept = false;
      decide_float(*kept[i]->node, DecisionKind::FasterAsFloat);
    }
  }

  bool has_kept_user(Node& node) const {
    for (const Node* result : results_of(node)) {
      for (const Node* user : result->users()) {
        const Candidate* candidate = candidate_at(*user);
        if (candidate && candidate->kept) return true;
      }
    }
    return false;
  }

  /// Whether the producer of a clipping needs a quantized output in any case.
  bool rounds_before(const Candidate& clipping) const {
    const Candidate& before = *candidate_at(*clipping.operands.front());
    return before.pays() && before.rule->needs_integer_result;
  }

  // --- which values ------------------------------------------------------------------------------

  /// Marks its operands as quantized, and its outputs if its kernel requires it.
  void mark_values(Candidate& candidate) {
    if (!candidate.kept) return;
    Node& node = *candidate.node;
    if (!candidate.is(IntegerForm::Clipping)) {
      for (Node* operand : candidate.operands) mark(*operand);
    }
    const bool clips_behind = node.users().size() == 1 && is_kept_clipping(**node.users().begin());
    if (clips_behind || !candidate.rule->needs_integer_result) return;
    for (Node* result : results_of(node)) mark(*result);
  }

  bool is_kept_clipping(const Node& node) const {
    const Candidate* candidate = candidate_at(node);
    return candidate && candidate->kept && candidate->is(IntegerForm::Clipping);
  }

  void mark(Node& value) {
    if (marked_.insert(&value).second) values_.push_back(&value);
  }

  /// The outputs of operators that copy integers share the scale of their inputs.
  void share_scales(const Candidate& candidate) {
    if (!candidate.is(IntegerForm::Passing) && !candidate.is(IntegerForm::Joining)) return;
    if (!are_cut_alike(candidate.operands)) return;  // then the output has its own scale
    for (Node* result : results_of(*candidate.node)) {
      copies_.insert(result);
      for (Node* operand : candidate.operands) join(*operand, *result);
    }
  }

  /// Whether the values have equal clip bounds. The quantizer that replaces a relu clips at 0 and
  /// so cannot be shared with values that may be negative.
  bool are_cut_alike(const Nodes& values) {
    const auto bounds_of = [&](Node* value) {
      const Candidate* maker = candidate_at(first_of(*value));
      const bool clips = maker && maker->kept && maker->is(IntegerForm::Clipping);
      return clips ? clip_bounds_of(maker->call) : std::nullopt;
    };
    return std::all_of(values.begin(), values.end(),
                       [&](Node* value) { return bounds_of(value) == bounds_of(values.front()); });
  }

  Node& first_of(Node& value) {
    const auto it = joined_.find(&value);
    return it == joined_.end() ? value : first_of(*it->second);
  }
  void join(Node& a, Node& b) {
    Node *first = &first_of(a), *other = &first_of(b);
    if (first != other) joined_[other] = first;
  }

  // --- points ------------------------------------------------------------------------------------

  void place_activations() {
    std::unordered_map<const Node*, size_t> place;
    for (const Node& node : module_.graph().nodes()) place.emplace(&node, place.size());
    std::sort(values_.begin(), values_.end(),
              [&](const Node* a, const Node* b) { return place[a] < place[b]; });
    for (Node* value : values_) place_value(*value);
  }

  void place_value(Node& value) {
    Node& shared = first_of(value);
    const Nodes readers = readers_of(value);
    const TensorConfig config = config_for(value, shared, readers);
    for (Node* reader : readers) {
      placement_.activations.push_back({.value = &value,
                                        .consumer = reader,
                                        .config = config,
                                        .shares = &shared == &value ? nullptr : &shared,
                                        .observed = !copies_.contains(&value)});
    }
  }

  void place_layer(Candidate& candidate) {
    Node& layer = *candidate.node;
    const TensorConfig config = config_of(Target::Weight, layer);
    add_weight(layer, candidate.call, *candidate.rule, config);
    add_bias(layer, candidate.call, config);
  }

  /// The consumers that read the quantized value: integer nodes or, if the value is computed with
  /// integers, all.
  Nodes readers_of(Node& value) const {
    const Candidate* maker = candidate_at(source_of(value));
    const bool only_integers = maker && maker->kept;
    Nodes readers;
    for (Node* user : value.users()) {
      const Candidate* candidate = candidate_at(*user);
      if (only_integers || (candidate && candidate->kept)) readers.push_back(user);
    }
    return readers;
  }

  /// The settings of a value, by the names of its consumers. Values that share a scale must have
  /// the same settings.
  TensorConfig config_for(const Node& value, const Node& shared, const Nodes& readers) {
    Nodes named;
    std::copy_if(readers.begin(), readers.end(), std::back_inserter(named),
                 [&](const Node* reader) {
                   const Candidate* candidate = candidate_at(*reader);
                   return candidate && candidate->kept;
                 });
    const Node& first = named.empty() ? source_of(value) : *named.front();
    const TensorConfig config = config_of(Target::Activation, first);
    for (const Node* reader : named)
      check_same(config, first, config_of(Target::Activation, *reader), *reader);
    const auto it = configs_.emplace(&shared, std::pair(config, &first)).first;
    check_same(it->second.first, *it->second.second, config, first);
    return config;
  }

  void check_same(const TensorConfig& a, const Node& of_a, const TensorConfig& b,
                  const Node& of_b) const {
    SPARSEBIT_CHECK(a == b, InvalidArgument, "A.SPECIFIC has different settings for '", of_a.name(),
                    "' and '", of_b.name(), "', but with BACKEND ", platform_.name,
                    " their inputs share one scale");
  }

  fx::MemoryGroups memory_;
  std::vector<Candidate> candidates_;                // in graph order
  std::unordered_map<const Node*, size_t> by_node_;  // index of the candidate
  std::unordered_set<const Node*> read_;             // values read by layers and products
  std::unordered_set<const Node*> marked_, copies_;
  Nodes values_;                                   // that are quantized
  std::unordered_map<const Node*, Node*> joined_;  // to an earlier value of the same scale
  // By shared scale: the settings, and the node whose name they are for.
  std::unordered_map<const Node*, std::pair<TensorConfig, const Node*>> configs_;
};

}  // namespace

Placement place_in_regions(fx::GraphModule& module, const QConfig& config) {
  return RegionPlacement(module, config).place();
}

}  // namespace sparsebit::quant
