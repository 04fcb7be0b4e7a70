#include "passes/all_passes.h"

namespace sparsebit::passes {
namespace {

bool is_shape(const NodeView& view) {
  const fx::Value& name = view.arg("name");
  return name.is_string() && name.get<std::string>() == "shape";
}

/// `x.shape[d]` is `x.size(d)`.
Replacements one_size(const Match& match, Rewriter& rewriter) {
  const fx::Value& index = match["item"].arg("index");
  if (!index.is_int()) return {};
  fx::Node& size = rewriter.graph().call_method("size", {match["shape"].arg("input"), index});
  return {{&match.node("item"), size}};
}

/// `x.shape` is `x.size()`.
Replacements all_sizes(const Match& match, Rewriter& rewriter) {
  fx::Node& size = rewriter.graph().call_method("size", {match["shape"].arg("input")});
  return {{&match.node("shape"), size}};
}

}  // namespace

Pass getattr_to_shape() {
  const PatternNode shape{.name = "shape", .operators = {"getattr"}, .check = is_shape};
  return {
      .name = "getattr_to_shape",
      .summary = "replace x.shape and x.shape[d] by calls of size",
      .stage = Stage::Simplify,
      .rules = {{Pattern({shape, {.name = "item", .operators = {"getitem"}, .inputs = {"shape"}}}),
                 one_size},
                {Pattern({shape}), all_sizes}}};
}

}  // namespace sparsebit::passes
