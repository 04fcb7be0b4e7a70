#include "passes/all_passes.h"
#include "passes/values.h"

#include <numeric>

namespace sparsebit::passes {
namespace {

using Axes = std::vector<int64_t>;

Axes in_order(int64_t rank) {
  Axes axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), int64_t{0});
  return axes;
}

std::optional<int64_t> known_rank(const NodeView& view, const Rewriter& rewriter) {
  if (view.is("permute") && view.arg("dims").is_sequence())
    return static_cast<int64_t>(view.arg("dims").items().size());
  return rank_of(view.arg("input"), rewriter);
}

/// Axes counted from the start; empty when an axis does not exist.
std::optional<Axes> from_start(Axes axes, int64_t rank) {
  for (int64_t& axis : axes) {
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return std::nullopt;
  }
  return axes;
}

std::optional<Axes> axes_of_permute(const NodeView& view, int64_t rank) {
  const std::optional<Axes> given = constant_ints(view.arg("dims"));
  if (!given || static_cast<int64_t>(given->size()) != rank) return std::nullopt;
  return from_start(*given, rank);
}

/// For each axis of the result, its axis in the input.
std::optional<Axes> axes_of(const NodeView& view, int64_t rank) {
  if (view.is("permute")) return axes_of_permute(view, rank);
  Axes axes = in_order(rank);
  if (view.is("t")) {
    if (rank == 2) std::swap(axes.front(), axes.back());  // a vector stays unchanged
    return axes;
  }
  const fx::Value &a = view.arg("dim0"), &b = view.arg("dim1");
  if (!a.is_int() || !b.is_int()) return std::nullopt;
  const std::optional<Axes> pair = from_start({a.to_int(), b.to_int()}, rank);
  if (!pair) return std::nullopt;
  std::swap(axes[static_cast<size_t>(pair->front())], axes[static_cast<size_t>(pair->back())]);
  return axes;
}

/// A permutation of `x` to this order of axes; `x` itself when they are in order.
fx::Value permuted(const fx::Value& x, const Axes& axes, Rewriter& rewriter) {
  if (axes == in_order(static_cast<int64_t>(axes.size()))) return x;
  return rewriter.graph().call_function("torch.permute", {x, axes});
}

/// Whether both exchange the same two axes, for any rank.
bool undo_each_other(const NodeView& a, const NodeView& b) {
  if (a.is("t") && b.is("t")) return true;
  if (!a.is("transpose") || !b.is("transpose")) return false;
  const auto same = [&](const char* x, const char* y) {
    return a.arg(x).is_int() && a.arg(x).same_as(b.arg(y));
  };
  return (same("dim0", "dim0") && same("dim1", "dim1")) ||
         (same("dim0", "dim1") && same("dim1", "dim0"));
}

Replacements two_permutations(const Match& match, Rewriter& rewriter) {
  const NodeView &first = match["first"], &second = match["second"];
  const fx::Value& x = first.arg("input");
  if (undo_each_other(first, second)) return {{second.node, x}};
  std::optional<int64_t> rank = known_rank(first, rewriter);
  if (!rank) rank = known_rank(second, rewriter);
  const std::optional<Axes> inner = rank ? axes_of(first, *rank) : std::nullopt;
  const std::optional<Axes> outer = rank ? axes_of(second, *rank) : std::nullopt;
  if (!inner || !outer) return {};
  Axes both;
  for (const int64_t axis : *outer) both.push_back((*inner)[static_cast<size_t>(axis)]);
  return {{second.node, permuted(x, both, rewriter)}};
}

Replacements keeps_order(const Match& match, Rewriter& rewriter) {
  const NodeView& view = match["step"];
  const std::optional<int64_t> rank = known_rank(view, rewriter);
  const std::optional<Axes> axes = rank ? axes_of(view, *rank) : std::nullopt;
  if (!axes || *axes != in_order(*rank)) return {};
  return {{view.node, view.arg("input")}};
}

}  // namespace

Pass merge_transposes() {
  const std::vector<std::string> operators = {"permute", "transpose", "t"};
  return {.name = "merge_transposes",
          .summary = "merge consecutive permutations, or remove them when they cancel",
          .stage = Stage::Simplify,
          .rules = {{Pattern({{.name = "first", .operators = operators},
                              {.name = "second", .operators = operators, .inputs = {"first"}}}),
                     two_permutations},
                    {Pattern({{.name = "step", .operators = operators}}), keeps_order}}};
}

}  // namespace sparsebit::passes
