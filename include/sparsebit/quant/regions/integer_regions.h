#pragma once

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/fx/resolve.h"
#include "sparsebit/platforms/platform.h"
#include "sparsebit/quant/quantizers/quantizer.h"
#include "sparsebit/quant/spec/decision.h"

#include <optional>
#include <vector>

namespace sparsebit::quant {

/// Which steps of a graph with quantizers a platform computes with integers. Read off the
/// quantizers that are there, whatever placement wanted: coverage, the export of clippings and the
/// form with integer operators all ask this.
class IntegerRegions {
 public:
  /// Both must outlive this object.
  IntegerRegions(const fx::GraphModule& module, const platforms::Platform& platform)
      : module_(module), platform_(platform) {}

  /// Why a call computes with floats; nothing if it computes with integers.
  std::optional<Decision> why_float(const fx::Node& node, const fx::OperatorCall& call) const;

  /// Whether the rounding right behind a relu or clamp cuts off the same, so that nothing is left
  /// of it to compute.
  bool is_clipped_by_rounding(const fx::Node& node, const fx::OperatorCall& call) const;

  /// Whether the target has nothing to compute for it: a copy, getitem that takes a tuple apart, an
  /// activation that runs as one with the layer before it, a relu that the rounding of a float
  /// does, or sizes and other numbers.
  bool computes_nothing(const fx::Node& node, const fx::OperatorCall& call) const;

  /// The quantizer that a node calls, unless it is off for good; null for other nodes.
  const Quantizer* quantizer_at(const fx::Node& node) const;
  /// The quantizer whose integers a value still is: its own, or one behind views of it, behind what
  /// keeps the grid of its input, and behind concatenations that points move over.
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
