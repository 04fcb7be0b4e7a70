#include "quant/rounding/learn_rounding.h"

#include "quant/calibration/stream.h"
#include "quant/quantizers/quantizers_as_before.h"
#include "quant/rounding/layer_matrix.h"
#include "quant/rounding/layer_rounding.h"
#include "quant/rounding/moments.h"
#include "sparsebit/quant/quantizers/bias.h"

#include "sparsebit/core/error_context.h"
#include "sparsebit/core/log.h"
#include "sparsebit/core/memory_limit.h"
#include "sparsebit/core/parallel.h"
#include "sparsebit/fx/resolve.h"
#include "sparsebit/quant/kernels/onnxruntime_kernels.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <unordered_map>

namespace sparsebit::quant {
namespace {

using fx::Node;

/// A layer with constant weights that are quantized.
struct LearnedLayer {
  fx::OperatorCall call;
  const QuantPoint* weight;
  bool rounds;             ///< its integers are learned
  const QuantPoint* bias;  ///< null: nothing can be corrected
  const Node* input;       ///< what the layer reads, through its quantizer if it has one
};

class Learner {
 public:
  Learner(fx::GraphModule& module, const std::vector<QuantPoint>& points,
          const platforms::Platform& platform, ValueStore& store, const LearnOptions& options,
          const fx::ExecutorFactory& executors)
      : module_(module),
        options_(options),
        floats_(module, store, executors),
        quantized_(module, store, executors,
                   {.kernels = options.calc.asym && options.calc.a_quant ? float_kernels(platform)
                                                                         : nullptr}) {
    for (const QuantPoint& point : points) points_[point.quantizer.get()] = &point;
    for (const QuantPoint& point : points) {
      if (!point.is_bias()) continue;
      dynamic_cast<Bias&>(*point.quantizer).remove_correction();  // of an earlier calibration
      for (const std::string& layer : point.consumers) biases_[layer] = &point;
    }
  }

  void run(const std::vector<std::vector<int64_t>>& samples) {
    if (options_.calc.asym) floats_.start(samples, /*keep=*/true);
    quantized_.start(samples);
    const auto& nodes = module_.graph().nodes();
    for (const Node& node : nodes) {
      if (quantized_.computes(node)) run_node(node);
      if (options_.calc.asym) floats_.drop_unused_after(node);
      quantized_.drop_unused_after(node);
      if (options_.calc.on_node) options_.calc.on_node(std::ssize(nodes));
    }
  }

 private:
  void run_node(const Node& node) {
    if (Quantizer* quantizer = find_quantizer(module_, node))
      return run_quantizer(node, *quantizer);
    if (const std::optional<LearnedLayer> layer = layer_at(node))
      with_context([&] { learn(*layer); }, [&] { return "at layer '" + node.name() + "'"; });
    if (options_.calc.asym) floats_.run_node(node);
    quantized_.run_node(node);
  }

  void run_quantizer(const Node& node, Quantizer& quantizer) {
    if (options_.calc.asym) floats_.run_node(node);
    quantizer.set_enabled(is_on(quantizer));
    quantized_.run_node(node);
    quantizer.set_enabled(false);
  }

  /// Whether the layers after it see its quantized values.
  bool is_on(const Quantizer& quantizer) const {
    const bool is_activation = quantizer.spec().target == Target::Activation;
    return options_.calc.asym && quantizer.is_calibrated() &&
           (is_activation ? options_.calc.a_quant : options_.calc.w_quant);
  }

  /// The calibrated point whose quantizer an argument calls; null if there is none.
  const QuantPoint* point_of(const fx::Value& argument) const {
    const Quantizer* quantizer =
        argument.is_node() ? find_quantizer(module_, argument.node()) : nullptr;
    const auto it = points_.find(quantizer);
    return it == points_.end() || !quantizer->is_calibrated() ? nullptr : it->second;
  }

  std::optional<LearnedLayer> layer_at(const Node& node) const {
    std::optional<fx::OperatorCall> call = fx::resolve(node, module_);
    if (!call || !LayerMatrix::fits(*call)) return std::nullopt;
    const QuantPoint* weight = point_of(call->args[call->op->weight->argument]);
    const fx::Value& input = call->args.values().front();
    if (!weight || !weight->is_weight() || !input.is_node()) return std::nullopt;
    const auto bias = biases_.find(node.name());
    const bool corrects = options_.correct_biases && bias != biases_.end() &&
                          bias->second->quantizer->is_calibrated() &&
                          !bias->second->quantizer->is_off_for_good();
    const bool rounds =
        weight->quantizer->learns_rounding() && !weight->quantizer->learned_integers();
    if (!corrects && !rounds) return std::nullopt;
    return LearnedLayer{*call, weight, rounds, corrects ? bias->second : nullptr, &input.node()};
  }

  void learn(const LearnedLayer& layer) {
    const at::Tensor weight = module_.find_tensor(layer.weight->value)->detach().to(at::kFloat);
    const LayerMatrix matrix(layer.call, weight);
    if (!fits_memory(layer, matrix, weight)) return;
    const Moments moments = moments_at(layer, matrix);
    if (moments.count == 0) return;
    const OneThread same_bits;
    Quantizer& quantizer = *layer.weight->quantizer;
    if (layer.rounds)
      quantizer.set_integers(rounded_to_moments(weight, matrix, moments, quantizer,
                                                /*bias_follows=*/layer.bias != nullptr));
    if (layer.bias) {
      quantizer.set_enabled(true);
      const at::Tensor quantized = quantizer(fx::Value(weight)).tensor();
      quantizer.set_enabled(false);
      dynamic_cast<Bias&>(*layer.bias->quantizer)
          .set_correction(mean_error(weight, quantized, matrix, moments));
    }
    refresh(layer);
  }

  /// Whether the moments of a layer fit below the memory limit. Very wide linear layers are rounded
  /// to nearest, with a warning.
  static bool fits_memory(const LearnedLayer& layer, const LayerMatrix& matrix,
                          const at::Tensor& weight) {
    const auto inputs = static_cast<double>(matrix.grouped(weight).size(2));
    constexpr double kMatrices = 8;  // sums, factors and temporaries
    const double bytes = (kMatrices + 4. * at::get_num_threads()) *
                         static_cast<double>(matrix.groups()) * inputs * inputs * sizeof(double);
    const auto left = static_cast<double>(memory_limit() - memory_in_use());
    if (bytes < left) return true;
    log_warning(
        "'{}': rounded to nearest, because learning from {:.0f} inputs needs {} of memory and {} "
        "are left",
        layer.weight->consumers.front(), inputs, bytes_text(bytes), bytes_text(left));
    return false;
  }

  /// The quantized weight and bias were computed before they changed.
  void refresh(const LearnedLayer& layer) {
    for (const char* name : {layer.call.op->weight->argument.c_str(), "bias"}) {
      const fx::Value& argument = layer.call.args[name];
      Quantizer* quantizer =
          argument.is_node() ? find_quantizer(module_, argument.node()) : nullptr;
      if (!quantizer || !is_on(*quantizer)) continue;
      const at::Tensor* tensor = module_.find_tensor(argument.node().inputs().front()->target());
      quantizer->set_enabled(true);
      quantized_.set_constant(argument.node(), (*quantizer)(fx::Value(*tensor)));
      quantizer->set_enabled(false);
    }
  }

  /// In the order of the samples, so that sums are the same for any number of threads.
  Moments moments_at(const LearnedLayer& layer, const LayerMatrix& matrix) const {
    const bool is_constant = quantized_.is_constant(*layer.input);
    const auto samples = static_cast<int64_t>(is_constant ? 1 : quantized_.samples());
    Moments sum;
    if (samples > 0) sum = moments_of_sample(0, layer, matrix, {});
    const int64_t at_once = std::max(1, at::get_num_threads());
    for (int64_t start = 1; start < samples; start += at_once) {
      const int64_t count = std::min(at_once, samples - start);
      std::vector<Moments> parts(static_cast<size_t>(count));
      parallel_for(count, static_cast<int>(at_once), [&](int64_t i, int) {
        parts[static_cast<size_t>(i)] =
            moments_of_sample(static_cast<size_t>(start + i), layer, matrix, sum.pivot);
      });
      for (const Moments& part : parts) sum.add(part);
    }
    return sum;
  }

  /// A batch is as many samples: of how they differ the learner knows what is noise.
  Moments moments_of_sample(size_t sample, const LearnedLayer& layer, const LayerMatrix& matrix,
                            const at::Tensor& pivot) const {
    const at::NoGradGuard no_gradients;
    const fx::Value quantized = quantized_.value_of(*layer.input, sample);
    if (!is_usable(quantized)) return {};
    const fx::Value floats =
        options_.calc.asym ? floats_.value_of(*layer.input, sample) : fx::Value(fx::None());
    const bool divides = quantized_.samples() < kFewSamples;
    const int64_t batch = divides ? matrix.batch_of(quantized.tensor()) : 1;
    const auto rows = [&](const fx::Value& value, int64_t i) {
      if (!is_usable(value)) return at::Tensor();
      const at::Tensor all = value.tensor().to(at::kFloat);
      return matrix.rows(divides && batch > 1 ? all.narrow(0, i, 1) : all);
    };
    Moments sum;
    for (int64_t i = 0; i < batch; ++i)
      sum.add(moments_of(rows(quantized, i), rows(floats, i), pivot.defined() ? pivot : sum.pivot));
    return sum;
  }

  static bool is_usable(const fx::Value& value) {
    return value.is_tensor() && value.tensor().is_floating_point() && value.tensor().numel() > 0;
  }

  /// Batches are divided into samples if there are fewer than this.
  static constexpr size_t kFewSamples = 16;

  fx::GraphModule& module_;
  LearnOptions options_;
  Stream floats_, quantized_;
  std::unordered_map<const Quantizer*, const QuantPoint*> points_;
  std::unordered_map<std::string, const QuantPoint*> biases_;  // by layer
};

}  // namespace

bool learns_rounding(const std::vector<QuantPoint>& points) {
  return std::any_of(points.begin(), points.end(), [](const QuantPoint& point) {
    return point.is_weight() && point.quantizer->learns_rounding();
  });
}

void learn_rounding(fx::GraphModule& module, const std::vector<QuantPoint>& points,
                    const platforms::Platform& platform, ValueStore& store,
                    const std::vector<std::vector<int64_t>>& samples, const LearnOptions& options,
                    const fx::ExecutorFactory& executors) {
  const at::NoGradGuard no_gradients;
  const QuantizersAsBefore all_off(points);
  Learner(module, points, platform, store, options, executors).run(samples);
}

}  // namespace sparsebit::quant
