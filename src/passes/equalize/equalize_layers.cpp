#include "passes/all_passes.h"
#include "passes/layers.h"
#include "passes/values.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

namespace sparsebit::passes {
namespace {

/// Logarithms of factors: smaller ones change nothing that matters.
constexpr double kNoticed = 1e-3;
constexpr double kSettled = 1e-4;
/// A chain passes factors on from layer to layer; this is enough for the longest.
constexpr int kMostEqualizations = 1000;
/// A channel that is almost off does not tell how large it should be.
constexpr double kMostFactor = 1e4;

/// Two layers with at most one activation between them.
struct Pair {
  const NodeView *first, *second;
  const NodeView* clipped;  ///< a relu6 between them
  at::Tensor total;         ///< logarithms of all factors so far
};

/// Activations with f(s * x) = s * f(x) for s > 0; relu6 is made one by scaling its limit.
const std::vector<std::string>& activations() {
  static const std::vector<std::string> names = {"relu", "relu6", "prelu", "leaky_relu"};
  return names;
}

at::Tensor largest_per_output(const Layer& layer) {
  return layer.grouped().abs().amax({2, 3}).flatten();
}

at::Tensor largest_per_input(const Layer& layer) {
  return layer.grouped().abs().amax({1, 3}).flatten();
}

/// With these, each channel has the same range in both layers. 1 where a layer does not use it.
at::Tensor factors(const Layer& first, const Layer& second) {
  const at::Tensor a = largest_per_output(first), b = largest_per_input(second);
  const at::Tensor factor = (b / a).sqrt().clamp(1 / kMostFactor, kMostFactor);
  return at::where(a.gt(0).logical_and(b.gt(0)), factor, at::ones_like(factor));
}

class Equalizer {
 public:
  explicit Equalizer(Rewriter& rewriter) : rewriter_(rewriter) {}

  /// All or nothing: factors of one layer are undone in the next.
  void run() {
    find_pairs();
    for (int round = 0; round < kMostEqualizations; ++round) {
      double largest = 0;
      for (Pair& pair : pairs_) largest = std::max(largest, equalize(pair));
      if (largest < kSettled) break;
    }
    const bool worth_it = std::any_of(pairs_.begin(), pairs_.end(), [](const Pair& pair) {
      return pair.total.abs().max().item<double>() > kNoticed;
    });
    if (!worth_it) return;
    for (const auto& [position, layer] : layers_) store(view_at(position), layer);
    for (const auto& [position, limit] : limits_) store_limit(view_at(position), limit);
  }

 private:
  size_t position(const NodeView& view) const { return rewriter_.index().position(*view.node); }
  const NodeView& view_at(size_t position) const {
    return rewriter_.index().view(*rewriter_.index().nodes()[position]);
  }

  void find_pairs() {
    const PatternNode first{
        .name = "first", .operators = layer_operators(), .users = Users::Inside};
    const PatternNode between{
        .name = "between", .operators = activations(), .inputs = {"first"}, .users = Users::Inside};
    const auto second = [](const char* input) {
      return PatternNode{.name = "second", .operators = layer_operators(), .inputs = {input}};
    };
    for (const Match& match : find_matches(Pattern({first, second("first")}), rewriter_.index()))
      consider(match["first"], match["second"], nullptr);
    for (const Match& match :
         find_matches(Pattern({first, between, second("between")}), rewriter_.index()))
      consider(match["first"], match["second"], &match["between"]);
  }

  void consider(const NodeView& first, const NodeView& second, const NodeView* between) {
    const auto is_written = [&](const NodeView* view) {
      return view && rewriter_.memory().is_written(*view->node);
    };
    if (is_written(&first) || is_written(between)) return;
    if (!owns_module(first, rewriter_) || !owns_module(second, rewriter_)) return;
    const std::optional<Layer> a = read_layer(first, rewriter_);
    const std::optional<Layer> b = read_layer(second, rewriter_);
    const bool same_axis = first.is("linear") == second.is("linear");
    if (!a || !b || !same_axis || a->outputs() != b->inputs()) return;
    const bool clips = between && between->is("relu6");
    if (clips && first.is("linear")) return;  // a limit per channel would be one per column
    pairs_.push_back(
        {&first, &second, clips ? between : nullptr, at::zeros({a->outputs()}, at::kDouble)});
    layers_.emplace(position(first), in_double(*a));
    layers_.emplace(position(second), in_double(*b));
  }

  static Layer in_double(Layer layer) {
    layer.weight = layer.weight.to(at::kDouble);
    if (layer.bias.defined()) layer.bias = layer.bias.to(at::kDouble);
    return layer;
  }

  /// Returns how far the largest factor is from 1.
  double equalize(Pair& pair) {
    Layer &first = layers_.at(position(*pair.first)), &second = layers_.at(position(*pair.second));
    const at::Tensor factor = factors(first, second);
    first.weight = first.with_outputs_times(factor);
    if (first.bias.defined()) first.bias = first.bias * factor;
    second.weight = second.with_inputs_times(factor.reciprocal());
    if (pair.clipped) {
      std::vector<int64_t> shape(static_cast<size_t>(first.weight.dim() - 1), 1);
      shape.front() = first.outputs();
      at::Tensor& limit = limits_[position(*pair.clipped)];
      limit = (limit.defined() ? limit : at::full(shape, 6., at::kDouble)) * factor.view(shape);
    }
    const at::Tensor change = factor.log();
    pair.total = pair.total + change;
    return change.abs().max().item<double>();
  }

  void store(const NodeView& view, Layer layer) {
    const at::ScalarType type = read_layer(view, rewriter_)->weight.scalar_type();
    layer.weight = layer.weight.to(type);
    if (layer.bias.defined()) layer.bias = layer.bias.to(type);
    set_layer(view, make_layer(view, layer), rewriter_);
    rewriter_.note_changed(*view.node);
  }

  /// relu6(x) * factor is min(relu(x * factor), 6 * factor).
  void store_limit(const NodeView& view, const at::Tensor& limit) {
    fx::Graph& graph = rewriter_.graph();
    const fx::Graph::InsertPoint here = graph.inserting_before(*view.node);
    const std::string path = rewriter_.free_path(view.node->name() + "_limit");
    const auto type = read_layer(view_of_first(view), rewriter_)->weight.scalar_type();
    rewriter_.module().add_buffer(path, limit.to(type));
    fx::Node& relu = graph.call_function("torch.relu", {view.arg("input")});
    fx::Node& limits = graph.get_attr(path);
    rewriter_.replace({{view.node, graph.call_function("torch.minimum", {relu, limits})}});
  }

  const NodeView& view_of_first(const NodeView& activation) const {
    return rewriter_.index().view(activation.arg("input").node());
  }

  Rewriter& rewriter_;
  std::vector<Pair> pairs_;
  std::map<size_t, Layer> layers_;       // by position in the graph, in float64
  std::map<size_t, at::Tensor> limits_;  // of each relu6, one per channel
};

}  // namespace

Pass equalize_layers() {
  return {.name = "equalize_layers",
          .summary = "channels of neighbouring layers are scaled to equal ranges",
          .stage = Stage::Equalize,
          .run = [](Rewriter& rewriter) { Equalizer(rewriter).run(); }};
}

}  // namespace sparsebit::passes
