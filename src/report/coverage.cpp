#include "sparsebit/report/coverage.h"

#include "sparsebit/fx/macs.h"
#include "sparsebit/fx/resolve.h"
#include "sparsebit/quant/regions/integer_regions.h"
#include "sparsebit/quant/regions/node_parts.h"
#include "sparsebit/report/node_names.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <unordered_map>

namespace sparsebit::report {

using fx::Node;

Coverage coverage_of(const quant::QuantModel& model) {
  const fx::GraphModule& module = model.module();
  const quant::IntegerRegions regions(module, model.platform());
  const NodeNames names(module.graph());
  // Placement's decisions have the cause; regions often know only the consequence: a float input.
  std::unordered_map<std::string, const quant::Decision*> decisions;
  for (const quant::Decision& decision : model.floats())
    decisions.emplace(decision.node, &decision);
  Coverage coverage;
  for (const Node& node : module.graph().nodes()) {
    if (regions.quantizer_at(node)) continue;
    const std::optional<fx::OperatorCall> call = fx::resolve(node, module);
    if (!call || regions.computes_nothing(node, *call)) continue;
    std::optional<quant::Decision> why_float = regions.why_float(node, *call);
    if (why_float) {
      const auto decided = decisions.find(node.name());
      why_float = names.shown(decided == decisions.end() ? *why_float : *decided->second);
    }
    coverage.nodes.push_back(
        {.node = node.name(),
         .shown = node.shown_name(),
         .op = call->op->name,
         .macs = fx::multiply_accumulates(node, *call, quant::weight_shape(*call, module)),
         .why_float = std::move(why_float)});
  }
  return coverage;
}

double Coverage::share_of_nodes() const {
  const auto with = std::count_if(nodes.begin(), nodes.end(),
                                  [](const NodeCoverage& node) { return !node.why_float; });
  return nodes.empty() ? 1 : static_cast<double>(with) / static_cast<double>(nodes.size());
}

double Coverage::share_of_macs() const {
  int64_t all = 0, with = 0;
  for (const NodeCoverage& node : nodes) {
    all += node.macs;
    with += node.why_float ? 0 : node.macs;
  }
  return all == 0 ? 1 : static_cast<double>(with) / static_cast<double>(all);
}

std::vector<const NodeCoverage*> Coverage::floats() const {
  std::vector<const NodeCoverage*> found;
  for (const NodeCoverage& node : nodes) {
    if (node.why_float) found.push_back(&node);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const NodeCoverage* a, const NodeCoverage* b) { return a->macs > b->macs; });
  return found;
}

}  // namespace sparsebit::report
