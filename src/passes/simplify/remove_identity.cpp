#include "passes/all_passes.h"
#include "passes/values.h"

namespace sparsebit::passes {
namespace {

/// `identity.remove = False` keeps an identity, as a place for a quantizer.
bool may_be_removed(const NodeView& view, const fx::GraphModule& module) {
  if (view.node->op() != fx::Opcode::CallModule) return true;
  const fx::Module* called = module.find(view.node->target());
  const fx::Value* remove = called ? called->find_attribute("remove") : nullptr;
  return !remove || !remove->is_bool() || remove->to_bool();
}

bool does_nothing(const NodeView& view) {
  const fx::Args& args = view.call->args;
  const auto is_zero = [&](const char* name) {
    return args.has(name) && args[name].is_number() && args[name].to_double() == 0.0;
  };
  const bool off =
      args.has("training") && args["training"].is_bool() && !args["training"].to_bool();
  return off || is_zero("p");
}

Replacements by_input(const Match& match, Rewriter& rewriter) {
  const NodeView& view = match["step"];
  if (view.is("identity") && !may_be_removed(view, rewriter.module())) return {};
  return {{view.node, view.arg("input")}};
}

}  // namespace

Pass remove_identity() {
  return {
      .name = "remove_identity",
      .summary = "remove identities, and dropout in eval mode",
      .stage = Stage::Simplify,
      .rules = {
          {Pattern({{.name = "step", .operators = {"identity"}}}), by_input},
          {Pattern({{.name = "step",
                     .operators = {"dropout", "dropout1d", "dropout2d", "dropout3d",
                                   "alpha_dropout", "feature_alpha_dropout", "stochastic_depth"},
                     .check = does_nothing}}),
           by_input}}};
}

}  // namespace sparsebit::passes
