#pragma once

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/fx/resolve.h"
#include "sparsebit/platforms/platform.h"
#include "sparsebit/quant/quantizers/quantizer.h"
#include "sparsebit/quant/spec/decision.h"

#include <optional>
#include <vector>

namespace sparsebit::quant {

/// The nodes of a graph with quantizers that a platform computes with integers. Derived from the
/// quantizers in the graph, not from placement's decisions. Used by coverage, by the export of
/// clippings, and by the export with integer operators.
class IntegerRegions {
 public:
  /// Both must outlive this object.
  IntegerRegions(const fx::GraphModule& module, const platforms::Platform& platform)
      : module_(module), platform_(platform) {}

  /// Why a call is computed in float; nullopt if it is computed with integers.
  std::optional<Decision> why_float(const fx::Node& node, const fx::OperatorCall& call) const;

  /// Whether the quantizer right after a relu or clamp clips at the same bounds, so that the relu
  /// or clamp can be omitted.
  bool is_clipped_by_rounding(const fx::Node& node, const fx::OperatorCall& call) const;

  /// Whether the target computes nothing for the node: a copy, a getitem of a tuple, an activation
  /// function fused with the layer before it, a relu replaced by the clipping of a quantizer, or
  /// sizes and other numbers that are not activations.
  bool computes_nothing(const fx::Node& node, const fx::OperatorCall& call) const;

  /// The quantizer that a node calls; null for other nodes and if it is permanently off.
  const Quantizer* quantizer_at(const fx::Node& node) const;
  /// The quantizer whose integers a value has: its own, or one upstream of views, of operators that
  /// keep the scale of their input (`keeps_grid`), and of `transparent` concatenations.
  const Quantizer* quantizer_behind(const fx::Node& operand) const;

 private:
  bool is_fused(const fx::Node& node, const fx::OperatorCall& call) const;
  bool is_fused_edge(const platforms::OperatorRule& rule, const fx::Node& operand) const;
  std::optional<Decision> float_before(const fx::Node& clipping) const;
  std::optional<Decision> float_operand(const fx::Node& node, const fx::Node& operand) const;
  std::optional<Decision> float_weight(const fx::Node& node, const fx::OperatorCall& call) const;
  std::optional<Decision> float_result(const fx::Node& node, const platforms::OperatorRule& rule,
                                       const std::vector<fx::Node*>& operands,
                                       const fx::Node& result) const;
  const fx::Node& rounds_for(const fx::Node& user) const;

  const fx::GraphModule& module_;
  const platforms::Platform& platform_;
};

}  // namespace sparsebit::quant
