#pragma once

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/fx/resolve.h"
#include "sparsebit/quant/placement/placement.h"
#include "sparsebit/quant/placement/quant_operators.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace sparsebit::quant {

/// What all policies of placement have in common: settings by names, weights, and notes of what
/// stays float and which patterns matched nothing.
class PlacementBuilder {
 protected:
  PlacementBuilder(fx::GraphModule& module, const QConfig& config)
      : module_(module), config_(config) {}

  /// Shows every call of the graph, in order. What is skipped or unknown is noted as float instead.
  void for_each_call(const std::function<void(fx::Node&, const fx::OperatorCall&)>& place);
  /// The finished placement. Throws InvalidArgument when groups of weights do not fit.
  Placement finish();

  /// Whether a pattern of SKIP_TRACE_MODULES matches its module or one around it. While tracing,
  /// such a module stays one step; in a graph from a file its steps are known all the same.
  bool is_skipped(const fx::Node& node);
  TensorConfig config_of(Target target, const fx::Node& node);
  /// A weight that is no constant is a reason for the node to stay float.
  static bool has_constant_weight(const fx::OperatorCall& call, const QuantOperator& known);
  void add_weight(fx::Node& node, const fx::OperatorCall& call, const QuantOperator& known,
                  const TensorConfig& config);
  void decide_float(const fx::Node& node, std::string reason);

  static bool is_call(const fx::Node& node);
  /// Not known to be integers, a number or a tuple.
  static bool may_be_floats(const fx::Node& value);

  fx::GraphModule& module_;
  const QConfig& config_;
  Placement placement_;

 private:
  void check_groups(const fx::Node& node, const at::Tensor& weight, const QuantOperator& known,
                    const TensorConfig& config);
  void check_no_misfits() const;
  void note_unused_skips();
  void note_unused(const Specific& specific, const std::string& side);

  std::vector<const SpecificRule*> used_;
  std::set<std::string> used_skips_;
  std::vector<const fx::Node*> misfits_;  // layers that GROUP_SIZE does not fit
};

}  // namespace sparsebit::quant
