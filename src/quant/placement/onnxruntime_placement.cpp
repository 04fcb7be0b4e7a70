#include "quant/placement/placement_builder.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/memory_groups.h"
#include "sparsebit/quant/placement/clipping.h"
#include "sparsebit/quant/placement/runtime_rules.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace sparsebit::quant {
namespace {

using fx::Node;
using Nodes = std::vector<Node*>;

/// A node that could compute with integers.
struct Candidate {
  Node* node;
  const RuntimeRule* rule;
  fx::OperatorCall call;
  Nodes operands = {};  // features it would read as integers
  bool able = true;     // what is around it lets it
  bool kept = false;

  bool is(IntegerForm form) const { return rule->form == form; }
  /// Sums of products take the time, and integers save it.
  bool pays() const { return is(IntegerForm::Layer) || is(IntegerForm::Product); }
};

class OnnxRuntimePlacement : public PlacementBuilder {
 public:
  OnnxRuntimePlacement(fx::GraphModule& module, const QConfig& config)
      : PlacementBuilder(module, config), memory_(module) {}

  Placement place() {
    for (Node& node : module_.graph().nodes()) find_candidate(node);
    for (Candidate& candidate : candidates_) check_around(candidate);
    keep_what_pays();
    for (Candidate& candidate : candidates_) mark_values(candidate);
    for (Candidate& candidate : candidates_) {
      if (candidate.kept) share_scales(candidate);
    }
    place_features();
    for (Candidate& candidate : candidates_) {
      if (candidate.kept && candidate.is(IntegerForm::Layer)) place_layer(candidate);
    }
    return finish();
  }

 private:
  // --- which nodes ----------------------------------------------------------------------------

  void find_candidate(Node& node) {
    if (!is_call(node)) return;
    const std::optional<fx::OperatorCall> call = fx::resolve(node, module_);
    if (!call) return decide_float(node, "nobody knows this operator");
    if (call->op->name == "getitem" && part_of(node)) return;  // see source_of()
    const RuntimeRule* rule = onnxruntime_rules().rules.find(call->op->name);
    if (!rule) return decide_float(node, onnxruntime_refuses(*call));
    Candidate candidate{&node, rule, *call};
    if (const std::string reason = reason_for_float(candidate); !reason.empty())
      return decide_float(node, reason);
    by_node_[&node] = candidates_.size();
    if (candidate.pays()) read_.insert(candidate.operands.begin(), candidate.operands.end());
    candidates_.push_back(std::move(candidate));
  }

  /// In graph order, so that what is before it is known.
  void check_around(Candidate& candidate) {
    const std::string reason = candidate.pays() ? ""
                               : candidate.is(IntegerForm::Clipping)
                                   ? reason_of_clipping(candidate)
                                   : reason_of_follower(candidate);
    candidate.able = reason.empty();
    if (!candidate.able) decide_float(*candidate.node, reason);
  }

  /// Empty when there is none. Fills the operands.
  std::string reason_for_float(Candidate& candidate) {
    const Node& node = *candidate.node;
    if (is_skipped(node)) return "SKIP_TRACE_MODULES names it";
    if (memory_.is_written(node) || fx::mutates_input(node, module_))
      return "it is written to in place";
    for (const std::string& name : candidate.rule->inputs) {
      if (!add_operands(candidate.call.args[name], candidate.operands))
        return "its argument '" + name + "' is no feature";
    }
    if (const std::string reason = onnxruntime_refuses(candidate.call); !reason.empty())
      return reason;
    if (config_of(Target::Feature, node).quantizer.disable) return "A.QUANTIZER.DISABLE";
    return candidate.is(IntegerForm::Layer) ? reason_of_layer(candidate) : "";
  }

  static bool add_operands(const fx::Value& value, Nodes& operands) {
    if (value.is_sequence()) {
      const auto& items = value.items();
      return std::all_of(items.begin(), items.end(),
                         [&](const fx::Value& item) { return add_operands(item, operands); });
    }
    const bool is_feature =
        value.is_node() && value.node().op() != fx::Opcode::GetAttr && may_be_floats(value.node());
    if (is_feature) operands.push_back(&value.node());
    return is_feature;
  }

  std::string reason_of_layer(const Candidate& candidate) {
    const QuantOperator& known = quant_operators().get(candidate.call.op->name);
    if (!has_constant_weight(candidate.call, known)) return "its weight is computed";
    const fx::Value& bias = candidate.call.args["bias"];
    const bool constant_bias = bias.is_none() || bias.is_tensor() ||
                               (bias.is_node() && bias.node().op() == fx::Opcode::GetAttr);
    if (!constant_bias) return "its bias is computed";
    if (config_of(Target::Weight, *candidate.node).quantizer.disable) return "W.QUANTIZER.DISABLE";
    return "";
  }

  /// It vanishes in the rounding of what is right before it.
  std::string reason_of_clipping(const Candidate& candidate) const {
    if (!clip_bounds_of(candidate.call)) return "its bounds are computed";
    const Node& input = *candidate.operands.front();
    const Candidate* before = candidate_at(input);
    const bool rounds = before && (before->pays() || before->is(IntegerForm::Scaling));
    if (!rounds) return "'" + input.name() + "' before it is float";
    return input.users().size() == 1 ? "" : "'" + input.name() + "' is used elsewhere, too";
  }

  /// Its operands are integers already: made so, or because others read them so.
  std::string reason_of_follower(const Candidate& candidate) const {
    for (const Node* operand : candidate.operands) {
      const Node& source = source_of(*operand);
      const bool ready = candidate_at(source) || read_.contains(operand);
      if (source.op() != fx::Opcode::Placeholder && !ready)
        return "'" + source.name() + "' before it is float";
    }
    return "";
  }

  const Candidate* candidate_at(const Node& node) const {
    const auto it = by_node_.find(&node);
    const bool found = it != by_node_.end() && candidates_[it->second].able;
    return found ? &candidates_[it->second] : nullptr;
  }

  // --- parts of a tuple: what split() gives is read by getitem() --------------------------------

  /// The node whose result, a tuple, this is a part of; null for other nodes.
  static const Node* part_of(const Node& node) {
    const bool gets_item = node.target() == "operator.getitem" && node.args().size() == 2 &&
                           node.args()[0].is_node() && node.args()[1].is_int();
    if (!gets_item) return nullptr;
    const Node& tuple = node.args()[0].node();
    return tuple.tensor_info() ? nullptr : &tuple;
  }
  static const Node& source_of(const Node& node) {
    const Node* tuple = part_of(node);
    return tuple ? *tuple : node;
  }
  /// The tensors that a node gives: itself, or the parts of its tuple.
  static Nodes results_of(Node& node) {
    Nodes parts;
    for (Node* user : node.users()) {
      if (part_of(*user) == &node) parts.push_back(user);
    }
    return parts.empty() ? Nodes{&node} : parts;
  }

  // --- which of them pay -------------------------------------------------------------------------

  /// From the end: what has integers behind it, and whatever pays by itself.
  void keep_what_pays() {
    for (auto it = candidates_.rbegin(); it != candidates_.rend(); ++it) {
      if (!it->able) continue;
      const bool feeds_integers = has_kept_user(*it->node);
      it->kept =
          it->pays() || feeds_integers || (it->is(IntegerForm::Clipping) && rounds_before(*it));
    }
    for (const Candidate& candidate : candidates_) {
      if (candidate.able && !candidate.kept)
        decide_float(*candidate.node, "nothing behind it computes with integers");
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

  /// Whether what is before a clipping has to give integers in any case.
  bool rounds_before(const Candidate& clipping) const {
    const Candidate& before = *candidate_at(*clipping.operands.front());
    return before.pays() && before.rule->needs_integer_result;
  }

  // --- which values ------------------------------------------------------------------------------

  /// Its operands, and its results if they have to be.
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

  /// Copies have the scale of what they are copies of.
  void share_scales(const Candidate& candidate) {
    if (!candidate.is(IntegerForm::Passing) && !candidate.is(IntegerForm::Joining)) return;
    if (!are_cut_alike(candidate.operands)) return;  // then the result has a scale of its own
    for (Node* result : results_of(*candidate.node)) {
      copies_.insert(result);
      for (Node* operand : candidate.operands) join(*operand, *result);
    }
  }

  /// A relu vanishes in a rounding that ends at 0, which would cut off what is negative elsewhere.
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

  void place_features() {
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
      placement_.features.push_back({.value = &value,
                                     .consumer = reader,
                                     .config = config,
                                     .shares = &shared == &value ? nullptr : &shared,
                                     .observed = !copies_.contains(&value)});
    }
  }

  void place_layer(Candidate& candidate) {
    Node& layer = *candidate.node;
    const TensorConfig config = config_of(Target::Weight, layer);
    add_weight(layer, candidate.call, quant_operators().get(candidate.call.op->name), config);
    if (candidate.call.args["bias"].is_none()) return;
    TensorConfig of_bias;
    of_bias.scheme = QuantScheme{config.scheme->granularity, Symmetry::Symmetric};
    of_bias.quantizer.bits = kBitsOfBias;
    placement_.weights.push_back({&layer, "bias", 0, of_bias, Target::Bias});
  }

  /// What computes with integers reads them. Where a value is made with integers there is nothing
  /// else to read.
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

  /// Settings of the features that an operator reads. Values of one scale have the same.
  TensorConfig config_for(const Node& value, const Node& shared, const Nodes& readers) {
    Nodes named;
    std::copy_if(readers.begin(), readers.end(), std::back_inserter(named),
                 [&](const Node* reader) {
                   const Candidate* candidate = candidate_at(*reader);
                   return candidate && candidate->kept;
                 });
    const Node& first = named.empty() ? source_of(value) : *named.front();
    const TensorConfig config = config_of(Target::Feature, first);
    for (const Node* reader : named)
      check_same(config, first, config_of(Target::Feature, *reader), *reader);
    const auto it = configs_.emplace(&shared, std::pair(config, &first)).first;
    check_same(it->second.first, *it->second.second, config, first);
    return config;
  }

  static void check_same(const TensorConfig& a, const Node& of_a, const TensorConfig& b,
                         const Node& of_b) {
    SPARSEBIT_CHECK(a == b, InvalidArgument, "A.SPECIFIC makes '", of_a.name(), "' and '",
                    of_b.name(),
                    "' differ, but with BACKEND onnxruntime what they read has one scale");
  }

  fx::MemoryGroups memory_;
  std::vector<Candidate> candidates_;                // in graph order
  std::unordered_map<const Node*, size_t> by_node_;  // the candidate
  std::unordered_set<const Node*> read_;             // as integers by what pays
  std::unordered_set<const Node*> marked_, copies_;
  Nodes values_;                                   // that are integers
  std::unordered_map<const Node*, Node*> joined_;  // to one before it, of the same scale
  std::unordered_map<const Node*, std::pair<TensorConfig, const Node*>> configs_;  // of scales
};

}  // namespace

Placement place_for_onnxruntime(fx::GraphModule& module, const QConfig& config) {
  return OnnxRuntimePlacement(module, config).place();
}

}  // namespace sparsebit::quant
