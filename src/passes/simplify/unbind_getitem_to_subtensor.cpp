#include "passes/all_passes.h"

namespace sparsebit::passes {
namespace {

Replacements subtensor(const Match& match, Rewriter& rewriter) {
  const fx::Value &x = match["parts"].arg("input"), &dim = match["parts"].arg("dim");
  const fx::Value& index = match["item"].arg("index");
  if (!index.is_int() || !dim.is_int()) return {};  // a slice of the parts is a tuple of tensors
  fx::Graph& graph = rewriter.graph();
  if (dim.to_int() < 0) {  // counts from the end, which an index cannot
    return {{&match.node("item"), graph.call_function("torch.select", {x, dim, index})}};
  }
  std::vector<fx::Value> indices(static_cast<size_t>(dim.to_int()), fx::Slice());
  indices.push_back(index);
  const fx::Value where = indices.size() == 1 ? index : fx::Value(fx::Tuple(std::move(indices)));
  return {{&match.node("item"), graph.call_function("operator.getitem", {x, where})}};
}

}  // namespace

Pass unbind_getitem_to_subtensor() {
  return {.name = "unbind_getitem_to_subtensor",
          .summary = "replace one part of unbind by an index",
          .stage = Stage::Simplify,
          .rules = {{Pattern({{.name = "parts", .operators = {"unbind"}},
                              {.name = "item", .operators = {"getitem"}, .inputs = {"parts"}}}),
                     subtensor}}};
}

}  // namespace sparsebit::passes
