#include "passes/all_passes.h"
#include "passes/layers.h"
#include "passes/values.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

namespace sparsebit::passes {
namespace {

/// Logarithms of factors below this are ignored: a few percent of a range do not matter, and it
/// would take very long to propagate them through a long chain.
constexpr double kNoticed = 0.05;
constexpr double kSettled = 0.01;
/// Factors propagate along a chain from layer to layer. If they have not converged after this many
/// rounds, the ranges are less equal than possible, but results are still correct.
constexpr int kMostRoundsOfPairs = 1000;
/// A channel that would need a larger factor is almost unused in one of the layers.
constexpr double kMostFactor = 100;

/// Activations with f(s * x) = s * f(x) for s > 0; those with an upper limit need it to be scaled.
const std::vector<std::string>& activations() {
  static const std::vector<std::string> names = {"relu",     "relu6", "prelu",  "leaky_relu",
                                                 "hardtanh", "clamp", "maximum"};
  return names;
}

/// A layer whose channels are being scaled. The weights are multiplied only once, at the end.
struct ScaledLayer {
  explicit ScaledLayer(const Layer& given)
      : layer(given),
        ranges(given.grouped().abs().amax(3).to(at::kDouble)),
        outputs(at::ones({given.outputs()}, at::kDouble)),
        inputs(at::ones({given.inputs()}, at::kDouble)) {}

  at::Tensor range_of_outputs() const { return ranges.amax(2).flatten(); }
  at::Tensor range_of_inputs() const { return ranges.amax(1).flatten(); }

  void scale_outputs(const at::Tensor& factor) {
    ranges = ranges * factor.view({layer.groups, -1, 1});
    outputs = outputs * factor;
  }
  void scale_inputs(const at::Tensor& factor) {
    ranges = ranges * factor.view({layer.groups, 1, -1});
    inputs = inputs * factor;
  }

  Layer result() const {
    const at::ScalarType type = layer.weight.scalar_type();
    Layer scaled = layer;
    scaled.weight = layer.weight.to(at::kDouble);
    scaled.weight = scaled.with_outputs_times(outputs);
    scaled.weight = scaled.with_inputs_times(inputs).to(type);
    if (layer.bias.defined()) scaled.bias = (layer.bias.to(at::kDouble) * outputs).to(type);
    return scaled;
  }

  Layer layer;
  at::Tensor ranges;           ///< largest weights: [groups, outputs of a group, inputs of a group]
  at::Tensor outputs, inputs;  ///< factors so far
};

/// Two layers with at most one activation between them.
struct Pair {
  const NodeView *first, *second;
  const NodeView* between;  ///< may be null
};

/// Factors that give each channel the same range in both layers. 1 where a layer hardly uses the
/// channel: its range would be arbitrary, and its bias would grow without bounds.
at::Tensor factors(const ScaledLayer& first, const ScaledLayer& second) {
  const at::Tensor a = first.range_of_outputs(), b = second.range_of_inputs();
  const at::Tensor factor = (b / a).sqrt();
  const at::Tensor usable = factor.ge(1 / kMostFactor).logical_and(factor.le(kMostFactor));
  return at::where(usable, factor, at::ones_like(factor));
}

double largest_change(const at::Tensor& factor) { return factor.log().abs().max().item<double>(); }

class Equalizer {
 public:
  explicit Equalizer(Rewriter& rewriter) : rewriter_(rewriter) {}

  /// Applies all factors or none, because the next layer undoes those of a layer.
  void run() {
    find_pairs();
    for (int round = 0; round < kMostRoundsOfPairs; ++round) {
      double largest = 0;
      for (const Pair& pair : pairs_) largest = std::max(largest, equalize(pair));
      if (largest < kSettled) break;
    }
    const bool worth_it = std::any_of(pairs_.begin(), pairs_.end(), [&](const Pair& pair) {
      return largest_change(layer_of(pair.first).outputs) > kNoticed;
    });
    if (!worth_it || !fits_types()) return;
    for (const Pair& pair : pairs_) scale_limit(pair);
    for (const auto& [position, layer] : layers_) store(position, layer);
  }

 private:
  /// Whether all weights and biases fit into their type: the largest float16 is 65504.
  bool fits_types() const {
    return std::all_of(layers_.begin(), layers_.end(),
                       [](const auto& item) { return item.second.result().is_finite(); });
  }

  ScaledLayer& layer_of(const NodeView* view) {
    return layers_.at(rewriter_.index().position(*view->node));
  }

  void find_pairs() {
    const PatternNode first{
        .name = "first", .operators = layer_operators(), .users = Users::Inside};
    const PatternNode between{.name = "between",
                              .operators = activations(),
                              .inputs = {"first"},
                              .order = InputOrder::Subset,
                              .users = Users::Inside};
    const auto second = [](const char* input) {
      return PatternNode{.name = "second", .operators = layer_operators(), .inputs = {input}};
    };
    for (const Match& match : find_matches(Pattern({first, second("first")}), rewriter_.index()))
      consider({&match["first"], &match["second"], nullptr});
    for (const Match& match :
         find_matches(Pattern({first, between, second("between")}), rewriter_.index()))
      consider({&match["first"], &match["second"], &match["between"]});
  }

  /// Whether the activation reads the layer, and any lower bound of it is 0.
  bool is_homogeneous(const NodeView& activation, const NodeView& layer) const {
    if (!reads(activation, *layer.node)) return false;
    if (activation.is("prelu") || activation.is("leaky_relu")) return true;
    const std::optional<Bounds> bounds = bounds_of(activation, rewriter_);
    return bounds && bounds->low == 0 && bounds->high > 0;
  }

  void consider(const Pair& pair) {
    const auto is_written = [&](const NodeView* view) {
      return view && rewriter_.memory().is_written(*view->node);
    };
    if (is_written(pair.first) || is_written(pair.between)) return;
    if (pair.between && !is_homogeneous(*pair.between, *pair.first)) return;
    if (!owns_tensors(*pair.first, rewriter_) || !owns_tensors(*pair.second, rewriter_)) return;
    const std::optional<Layer> first = read_layer(*pair.first, rewriter_);
    const std::optional<Layer> second = read_layer(*pair.second, rewriter_);
    const bool same_axis = pair.first->is("linear") == pair.second->is("linear");
    if (!first || !second || !same_axis || first->outputs() != second->inputs()) return;
    // scale_limit() makes limits for channels on axis 1; a linear layer has them on the last axis.
    if (pair.between && relu_limit(*pair.between, rewriter_) && pair.first->is("linear")) return;
    pairs_.push_back(pair);
    layers_.try_emplace(rewriter_.index().position(*pair.first->node), *first);
    layers_.try_emplace(rewriter_.index().position(*pair.second->node), *second);
  }

  /// Returns how far the largest factor is from 1.
  double equalize(const Pair& pair) {
    ScaledLayer &first = layer_of(pair.first), &second = layer_of(pair.second);
    const at::Tensor factor = factors(first, second);
    first.scale_outputs(factor);
    second.scale_inputs(factor.reciprocal());
    return largest_change(factor);
  }

  void store(size_t position, const ScaledLayer& layer) {
    const NodeView& view = rewriter_.index().view(*rewriter_.index().nodes()[position]);
    set_layer(view, make_layer(view, layer.result()), rewriter_);
    rewriter_.note_changed(*view.node);
  }

  /// min(relu(x), limit) * factor is min(relu(x * factor), limit * factor).
  void scale_limit(const Pair& pair) {
    const std::optional<double> limit =
        pair.between ? relu_limit(*pair.between, rewriter_) : std::nullopt;
    if (!limit) return;
    const ScaledLayer& layer = layer_of(pair.first);
    std::vector<int64_t> shape(static_cast<size_t>(layer.layer.weight.dim() - 1), 1);
    shape.front() = -1;  // channels, then one for each spatial axis
    const at::Tensor limits =
        (layer.outputs * *limit).view(shape).to(layer.layer.weight.scalar_type());
    fx::Node& activation = *pair.between->node;
    fx::Graph& graph = rewriter_.graph();
    const fx::Graph::InsertPoint here = graph.inserting_before(activation);
    const std::string path = rewriter_.free_path(activation.name() + "_limit");
    rewriter_.module().add_buffer(path, limits);
    fx::Node& relu = graph.call_function("torch.relu", {pair.between->arg("input")});
    rewriter_.replace(
        {{&activation, graph.call_function("torch.minimum", {relu, graph.get_attr(path)})}});
  }

  Rewriter& rewriter_;
  std::vector<Pair> pairs_;
  std::map<size_t, ScaledLayer> layers_;  // by position in the graph
};

}  // namespace

Pass equalize_layers() {
  return {.name = "equalize_layers",
          .summary = "scale channels of adjacent layers to equal ranges",
          .stage = Stage::Equalize,
          .run = [](Rewriter& rewriter) { Equalizer(rewriter).run(); }};
}

}  // namespace sparsebit::passes
