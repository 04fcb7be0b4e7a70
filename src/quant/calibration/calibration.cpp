#include "quant/calibration/calibration.h"

#include "quant/calibration/samples.h"
#include "quant/calibration/sequence.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/core/memory_limit.h"
#include "sparsebit/core/parallel.h"
#include "sparsebit/fx/memory_groups.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <utility>

namespace sparsebit::quant {

Calibration::Calibration(fx::GraphModule& module, const std::vector<QuantPoint>& points,
                         int64_t fixed_batch, const PrepareOptions& options,
                         const fx::ExecutorFactory& executors)
    : module_(module),
      executors_(executors),
      points_(points),
      samples_at_once_(options.whole_batches ? 0 : std::max<int64_t>(1, fixed_batch)),
      keeps_samples_(options.keep_samples),
      store_(std::min(options.bytes_in_memory, memory_limit() / 4)) {
  const fx::MemoryGroups memory(module);
  const auto inputs = module.graph().placeholders();
  writes_inputs_ = std::any_of(inputs.begin(), inputs.end(),
                               [&](const fx::Node* input) { return memory.is_written(*input); });
  std::unordered_map<std::string_view, const fx::Node*> nodes;
  for (const fx::Node& node : module.graph().nodes()) nodes[node.name()] = &node;
  for (size_t i = 0; i < points_.size(); ++i) {
    last_point_[points_[i].quantizer.get()] = i;
    if (!points_[i].is_activation() || !points_[i].observed) continue;
    activation_at_[nodes.at(points_[i].name)] = i;
    depends_on_order_ |= points_[i].quantizer->new_observer()->depends_on_order();
  }
}

fx::Value Calibration::show(const std::vector<fx::Value>& batch) {
  using Samples = std::vector<std::vector<fx::Value>>;
  const Samples samples =
      samples_at_once_ == 0 ? Samples{batch} : samples_of(batch, samples_at_once_);
  if (keeps_samples_)
    std::for_each(samples.begin(), samples.end(), [&](const auto& s) { keep(s); });
  const int viewers = viewers_for(std::ssize(samples));
  while (std::ssize(viewers_) < viewers) add_viewer();
  std::vector<fx::Value> results(samples.size());
  parallel_for(std::ssize(samples), viewers, [&](int64_t i, int viewer) {
    const auto& sample = samples[static_cast<size_t>(i)];
    results[i] = viewers_[viewer].executor->run(writes_inputs_ ? copy_of(sample) : sample,
                                                viewers_[viewer].taps);
  });
  return joined(results);
}

int Calibration::viewers_for(int64_t samples) const {
  if (depends_on_order_) return 1;
  return static_cast<int>(std::clamp<int64_t>(samples, 1, at::get_num_threads()));
}

/// Taps the outputs of the quantizer nodes, which equal their inputs because quantizers are off.
void Calibration::add_viewer() {
  const size_t viewer = viewers_.size();
  fx::Taps taps;
  for (const auto& [node, point] : activation_at_) taps.nodes.push_back(node);
  taps.see = [this, viewer](const fx::Node& node, const fx::Value& value) {
    look_at(activation_at_.at(&node), value, viewers_[viewer]);
  };
  viewers_.push_back(
      {executors_(module_, {.mode = fx::RunMode::Inference, .skip_uncomputable = true}),
       std::move(taps)});
  for (const QuantPoint& point : points_)
    viewers_.back().observers.push_back(point.quantizer->new_observer());
  viewers_.back().saw_other_types.assign(points_.size(), false);
}

void Calibration::look_at(size_t point, const fx::Value& value, Viewer& viewer) const {
  if (!value.is_tensor() || !value.tensor().is_floating_point()) {
    viewer.saw_other_types[point] = true;
    return;
  }
  with_context([&] { points_[point].quantizer->observe(value.tensor(), *viewer.observers[point]); },
               [&] { return points_[point].place(); });
}

/// Copies tensors, because the caller or the model may overwrite them.
std::vector<fx::Value> Calibration::copy_of(const std::vector<fx::Value>& sample) {
  std::vector<fx::Value> copy;
  for (const fx::Value& input : sample)
    copy.push_back(input.is_tensor() ? fx::Value(input.tensor().clone()) : input);
  return copy;
}

void Calibration::keep(const std::vector<fx::Value>& sample) {
  std::vector<int64_t>& ids = samples_.emplace_back();
  for (fx::Value& input : copy_of(sample)) ids.push_back(store_.put(std::move(input)));
}

void Calibration::finish(const CalcOptions& options) {
  SPARSEBIT_CHECK(options.asym || !options.quantized_ranges, InvalidArgument,
                  "quantized_ranges requires asym: set both");
  if (options.quantized_ranges) {
    SPARSEBIT_CHECK(keeps_samples_, InvalidArgument,
                    "quantized_ranges needs the samples: call "
                    "prepare_calibration({.keep_samples = true}) before the data");
    SPARSEBIT_CHECK(!samples_.empty(), InvalidArgument, "no data was seen, so there are no ranges");
    return calibrate_in_sequence(module_, points_, store_, samples_, options, executors_);
  }
  const auto at_each = [&](void (Calibration::*work)(size_t)) {
    for (size_t i = 0; i < points_.size(); ++i)
      with_context([&] { (this->*work)(i); }, [&] { return points_[i].place(); });
  };
  at_each(&Calibration::check_seen);  // before any quantizer is changed
  at_each(&Calibration::calibrate);
}

void Calibration::check_seen(size_t index) {
  const QuantPoint& point = points_[index];
  if (!point.is_activation() || !point.observed || point.quantizer->is_off_for_good()) return;
  const bool seen = std::any_of(viewers_.begin(), viewers_.end(), [&](const Viewer& viewer) {
    return viewer.observers[index]->has_seen() || viewer.saw_other_types[index];
  });
  SPARSEBIT_CHECK(seen, InvalidArgument, "no data was seen, so there is no range");
}

void Calibration::calibrate(size_t index) {
  const QuantPoint& point = points_[index];
  if (point.is_bias()) return;  // see set_bias_scales()
  for (Viewer& viewer : viewers_) {
    if (viewer.saw_other_types[index])
      point.quantizer->switch_off({DecisionKind::ValuesNotFloat, point.value});
    if (viewer.observers[index]->has_seen())
      point.quantizer->merge(std::move(viewer.observers[index]));
  }
  if (point.is_weight()) point.quantizer->observe(*module_.find_tensor(point.value));
  if (last_point_.at(point.quantizer.get()) == index) point.quantizer->calibrate();
}

}  // namespace sparsebit::quant
