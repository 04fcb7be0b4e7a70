#pragma once

#include "sparsebit/fx/computable.h"
#include "sparsebit/fx/graph_module.h"
#include "sparsebit/fx/resolve.h"
#include "sparsebit/quant/placement/placement.h"
#include "sparsebit/quant/regions/node_parts.h"
#include "sparsebit/quant/regions/operator_rules.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sparsebit::quant {

/// Common base of the placement policies: settings by name, weights, decisions about float nodes,
/// and patterns that match nothing.
class PlacementBuilder {
 protected:
  PlacementBuilder(fx::GraphModule& module, const QConfig& config)
      : module_(module),
        config_(config),
        platform_(*config.platform),
        uncomputable_(fx::uncomputable_nodes(module)) {}

  /// Calls `place` for every call of the graph, in order. Skipped and unknown calls are decided
  /// float instead.
  void for_each_call(const std::function<void(fx::Node&, const fx::OperatorCall&)>& place);
  /// The decision about a call that no operator table has.
  static Decision float_without_operator(const fx::Node& node);
  /// The decision about a node that depends on an unknown operator and so cannot be calibrated;
  /// nullopt for others.
  std::optional<Decision> float_if_uncomputable(const fx::Node& node) const;
  /// Whether the user added a module or function that no operator table has.
  bool is_added_unknown(const fx::Node& node) const;
  /// The finished placement. Throws InvalidArgument if GROUP_SIZE does not fit a weight.
  Placement finish();

  /// Whether a pattern of SKIP_TRACE_MODULES matches its module or one around it. Tracing keeps
  /// such a module as one node; in a graph from a file its nodes are visible, so they are skipped
  /// here.
  bool is_skipped(const fx::Node& node);
  /// Whether the user excluded its module, operator, layer or node.
  bool is_excluded(const fx::Node& node, const fx::OperatorCall& call) const;
  /// Whether the user added the node or its operator to those of the platform.
  bool is_added(const fx::Node& node, const fx::OperatorCall& call) const;
  TensorConfig config_of(Target target, const fx::Node& node);
  /// Whether the weight of a layer is constant.
  static bool has_constant_weight(const fx::OperatorCall& call);
  void add_weight(fx::Node& node, const fx::OperatorCall& call, const platforms::OperatorRule& rule,
                  const TensorConfig& config);
  /// Adds the bias as the platform stores it; does nothing if biases stay float.
  void add_bias(fx::Node& node, const fx::OperatorCall& call, const TensorConfig& of_weight);
  void decide_float(const fx::Node& node, DecisionKind kind, std::string other = "");
  void decide_float(Decision decision) { placement_.floats.push_back(std::move(decision)); }

  fx::GraphModule& module_;
  const QConfig& config_;
  const platforms::Platform& platform_;
  Placement placement_;

 private:
  void check_groups(const fx::Node& node, const at::Tensor& weight, int64_t axis,
                    const TensorConfig& config);
  void check_no_misfits() const;
  void note_unused_skips();
  void note_unused(const Specific& specific, const std::string& side);
  void note_unused_selection();

  std::unordered_map<const fx::Node*, const fx::Node*> uncomputable_;
  std::vector<const SpecificRule*> used_;
  std::set<std::string> used_skips_;
  std::vector<const fx::Node*> misfits_;  // layers that GROUP_SIZE does not fit
};

}  // namespace sparsebit::quant
