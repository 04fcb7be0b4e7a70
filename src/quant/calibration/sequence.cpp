#include "quant/calibration/sequence.h"

#include "quant/calibration/stream.h"
#include "quant/quantizers/quantizers_as_before.h"

#include "sparsebit/core/error_context.h"
#include "sparsebit/core/parallel.h"

#include <ATen/ATen.h>

#include <unordered_map>

namespace sparsebit::quant {
namespace {

using fx::Node;

class Sequence {
 public:
  Sequence(fx::GraphModule& module, const std::vector<QuantPoint>& points, ValueStore& store,
           const CalcOptions& options, const fx::ExecutorFactory& executors)
      : module_(module), options_(options), stream_(module, store, executors) {
    for (const QuantPoint& point : points) {
      if (!point.observed) continue;
      points_[point.name] = &point;
      ++unseen_[point.quantizer.get()];
    }
  }

  void run(const std::vector<std::vector<int64_t>>& samples) {
    stream_.start(samples, /*keep=*/true);
    const auto& nodes = module_.graph().nodes();
    for (const Node& node : nodes) {
      if (node.op() == fx::Opcode::Output) break;
      if (stream_.computes(node)) {
        calibrate_at(node);
        stream_.run_node(node);
      }
      stream_.drop_unused_after(node);
      if (options_.on_node) options_.on_node(std::ssize(nodes) - 1);  // without the output
    }
  }

 private:
  /// A scale that several values share is computed at the last of them.
  void calibrate_at(const Node& node) {
    const auto it = points_.find(node.name());
    if (it == points_.end()) return;
    const QuantPoint& point = *it->second;
    const OneThread same_bits;
    with_context(
        [&] {
          observe(*node.inputs().front(), *point.quantizer);
          if (--unseen_[point.quantizer.get()] > 0) return;
          point.quantizer->calibrate();
          point.quantizer->set_enabled(point.is_activation() ? options_.a_quant : options_.w_quant);
        },
        [&] { return point.place(); });
  }

  void observe(const Node& value, Quantizer& quantizer) const {
    const size_t times = stream_.is_constant(value) ? 1 : stream_.samples();
    for (size_t i = 0; i < times; ++i) {
      const fx::Value seen = stream_.value_of(value, i);
      const bool is_float = seen.is_tensor() && seen.tensor().is_floating_point();
      if (!is_float) quantizer.switch_off({DecisionKind::ValuesNotFloat, value.name()});
      if (is_float) quantizer.observe(seen.tensor());
    }
  }

  fx::GraphModule& module_;
  CalcOptions options_;
  Stream stream_;
  std::unordered_map<std::string_view, const QuantPoint*> points_;  // by node name
  std::unordered_map<const Quantizer*, int> unseen_;  // number of points still to observe
};

}  // namespace

void calibrate_in_sequence(fx::GraphModule& module, const std::vector<QuantPoint>& points,
                           ValueStore& store, const std::vector<std::vector<int64_t>>& samples,
                           const CalcOptions& options, const fx::ExecutorFactory& executors) {
  const QuantizersAsBefore all_off(points);
  Sequence(module, points, store, options, executors).run(samples);
}

}  // namespace sparsebit::quant
