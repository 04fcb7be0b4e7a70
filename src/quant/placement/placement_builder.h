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

/// What all policies of placement have in common: settings by names, weights, and notes of what
/// stays float and which patterns matched nothing.
class PlacementBuilder {
 protected:
  PlacementBuilder(fx::GraphModule& module, const QConfig& config)
      : module_(module),
        config_(config),
        platform_(*config.platform),
        uncomputable_(fx::uncomputable_nodes(module)) {}

  /// Shows every call of the graph, in order. What is skipped or unknown is noted as float instead.
  void for_each_call(const std::function<void(fx::Node&, const fx::OperatorCall&)>& place);
  /// Why a call that no operator table has stays float.
  static Decision float_without_operator(const fx::Node& node);
  /// Why a node stays float that cannot be computed here, so that no range of it can be found.
  std::optional<Decision> float_if_uncomputable(const fx::Node& node) const;
  /// Whether the user asked for the inputs of a module or function that no table has.
  bool is_added_unknown(const fx::Node& node) const;
  /// The finished placement. Throws InvalidArgument when groups of weights do not fit.
  Placement finish();

  /// Whether a pattern of SKIP_TRACE_MODULES matches its module or one around it. While tracing,
  /// such a module stays one step; in a graph from a file its steps are known all the same.
  bool is_skipped(const fx::Node& node);
  /// Whether the user left it out: its module (at this path), its operator or its node.
  bool is_excluded(const fx::Node& node, const fx::OperatorCall& call) const;
  /// Whether the user asked for it although the platform has no row for it.
  bool is_added(const fx::Node& node, const fx::OperatorCall& call) const;
  TensorConfig config_of(Target target, const fx::Node& node);
  /// Whether the weight of a layer is a tensor of the model.
  static bool has_constant_weight(const fx::OperatorCall& call);
  void add_weight(fx::Node& node, const fx::OperatorCall& call, const platforms::OperatorRule& rule,
                  const TensorConfig& config);
  /// As the platform stores biases; nothing where they stay float.
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
