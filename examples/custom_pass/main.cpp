// A custom pass: -linear(x) becomes a linear layer with negated weights.

#include "sparsebit/fx/printer.h"
#include "sparsebit/fx/tracer.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"
#include "sparsebit/nn/module.h"
#include "sparsebit/passes/runner.h"

#include <ATen/ATen.h>

#include <iostream>

using namespace sparsebit;  // NOLINT: an example

/// Which nodes to look for.
passes::Pattern negated_linear() {
  return passes::Pattern(
      {{.name = "linear",
        .operators = {"linear"},
        .users = passes::Users::Inside,
        .check = [](const auto& view) { return view.arg("weight").is_tensor(); }},
       {.name = "negated", .operators = {"neg"}, .inputs = {"linear"}}});
}

/// What to put in their place.
passes::Replacements fold(const passes::Match& match, passes::Rewriter& rewriter) {
  const passes::NodeView &linear = match["linear"], &negated = match["negated"];
  const at::Tensor weight = -linear.arg("weight").tensor();
  const fx::Value& bias = linear.arg("bias");
  const std::vector<fx::Value> sizes = {weight.size(1), weight.size(0)};
  const std::string path = rewriter.free_path(linear.node->name() + "_negated");
  rewriter.module().set_module(
      path,
      fx::make_module(
          "torch.nn.Linear", sizes, {{"bias", !bias.is_none()}},
          {{{"weight", weight}, {"bias", bias.is_none() ? at::Tensor() : -bias.tensor()}}, {}}));
  return {{negated.node, rewriter.graph().call_module(path, {linear.arg("input")})}};
}

passes::Pass fold_negation() {
  return {.name = "fold_negation",
          .summary = "-linear(x) is a linear layer",
          .stage = passes::Stage::Fuse,
          .rules = {{negated_linear(), fold}}};
}

class Model : public nn::Module {
 public:
  Model() : Module("Model", "x") { add_module("fc", nn::Linear(4, 3)); }
  nn::Value forward(const nn::Args& in) override { return -call("fc", in["x"]); }
};

int main() {
  Model model;
  const auto module = fx::Tracer().trace(model);
  const at::Tensor x = at::ones({2, 4});
  const at::Tensor before = (*module)(x).tensor();

  const passes::PassReport report = passes::run_passes(*module, {.extra = {fold_negation()}});
  for (const passes::Change& change : report.changes) {
    std::cout << change.pass << ": " << change.before.size() << " nodes became "
              << change.after.front() << "\n";
  }
  std::cout << fx::to_text(module->graph());
  return report.changes.size() == 1 && at::allclose((*module)(x).tensor(), before) ? 0 : 1;
}
