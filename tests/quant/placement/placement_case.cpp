#include "quant/placement/placement_case.h"

#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/parser.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sparsebit::quant::test {

std::unique_ptr<fx::GraphModule> graph_of(const std::string& text) {
  auto module = std::make_unique<fx::GraphModule>(fx::parse_graph(text), "Case");
  const at::Generator random = at::detail::createCPUGenerator(1);
  module->add_parameter("w", at::randn({4, 4, 1, 1}, random));
  module->add_parameter("b", at::randn({4}, random));
  module->add_parameter("m", at::randn({8, 8}, random));
  fx::record_shapes(*module, {at::ones({1, 4, 8, 8})});
  return module;
}

const Decision* Placed::about(const std::string& node) const {
  const auto it = std::find_if(floats.begin(), floats.end(),
                               [&](const Decision& decision) { return decision.node == node; });
  return it == floats.end() ? nullptr : &*it;
}

Placed placed(const std::string& text, const std::string& platform,
              const OperatorSelection& selection) {
  const auto module = graph_of(text);
  QConfig config = default_qconfig(platforms::find_platform(platform));
  config.selection = selection;
  const Placement placement = place(*module, config);
  Placed found{.points = {}, .weights = {}, .floats = placement.floats};
  for (const ActivationPoint& point : placement.activations)
    found.points.insert(point.value->name() + " > " + point.consumer->name());
  for (const WeightPoint& point : placement.weights)
    found.weights.insert(point.layer->name() + "." + point.argument);
  return found;
}

}  // namespace sparsebit::quant::test
