#include "quant/calibration/calibration.h"

#include "quant/calibration/samples.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/core/parallel.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>

namespace sparsebit::quant {

Calibration::Calibration(fx::GraphModule& module, const std::vector<QuantPoint>& points,
                         int64_t samples_at_once, const PrepareOptions& options)
    : module_(module),
      points_(points),
      samples_at_once_(samples_at_once),
      keeps_samples_(options.keep_samples),
      store_(options.bytes_in_memory) {
  std::unordered_map<std::string_view, const fx::Node*> nodes;
  for (const fx::Node& node : module.graph().nodes()) nodes[node.name()] = &node;
  for (size_t i = 0; i < points_.size(); ++i) {
    if (points_[i].is_weight()) continue;
    feature_at_[nodes.at(points_[i].name)] = i;
    depends_on_order_ |= points_[i].quantizer->new_observer()->depends_on_order();
  }
}

fx::Value Calibration::show(const std::vector<fx::Value>& batch) {
  const std::vector<std::vector<fx::Value>> samples = samples_of(batch, samples_at_once_);
  const int viewers = viewers_for(static_cast<int64_t>(samples.size()));
  while (std::ssize(viewers_) < viewers) add_viewer();
  std::vector<fx::Value> results(samples.size());
  parallel_for(std::ssize(samples), viewers, [&](int64_t i, int viewer) {
    results[i] = viewers_[viewer].interpreter->run(samples[i]);
  });
  if (keeps_samples_)
    std::for_each(samples.begin(), samples.end(), [&](const auto& s) { keep(s); });
  return joined(results);
}

int Calibration::viewers_for(int64_t samples) const {
  if (depends_on_order_) return 1;
  return static_cast<int>(std::clamp<int64_t>(samples, 1, at::get_num_threads()));
}

void Calibration::add_viewer() {
  auto interpreter = std::make_unique<fx::Interpreter>(module_, fx::RunMode::Inference);
  const size_t viewer = viewers_.size();
  interpreter->add_hook(
      {.before = {}, .after = [this, viewer](const fx::Node& node, fx::Value& value) {
         const auto it = feature_at_.find(&node);
         if (it != feature_at_.end())
           look_at(points_[it->second], value, *viewers_[viewer].observers[it->second]);
       }});
  viewers_.push_back({std::move(interpreter), {}});
  for (const QuantPoint& point : points_)
    viewers_.back().observers.push_back(point.quantizer->new_observer());
}

void Calibration::look_at(const QuantPoint& point, const fx::Value& value,
                          Observer& observer) const {
  if (!value.is_tensor()) return;
  with_context([&] { point.quantizer->observe(value.tensor(), observer); },
               [&] { return point.place(); });
}

/// Copies, since a caller may fill the same tensor again.
void Calibration::keep(const std::vector<fx::Value>& sample) {
  std::vector<int64_t>& ids = samples_.emplace_back();
  for (const fx::Value& input : sample)
    ids.push_back(store_.put(input.is_tensor() ? fx::Value(input.tensor().clone()) : input));
}

void Calibration::finish(const CalcOptions& options) {
  SPARSEBIT_CHECK(options.asym || !options.quantized_ranges, InvalidArgument,
                  "quantized_ranges is a part of asym: switch both on");
  if (options.quantized_ranges) {
    SPARSEBIT_CHECK(keeps_samples_, InvalidArgument,
                    "ranges of quantized layers need the samples again: call "
                    "prepare_calibration({.keep_samples = true}) before the data");
    return calibrate_in_sequence(module_, points_, store_, std::move(samples_), options);
  }
  for (size_t i = 0; i < points_.size(); ++i) {
    const QuantPoint& point = points_[i];
    with_context(
        [&] {
          for (const Viewer& viewer : viewers_) point.quantizer->merge(*viewer.observers[i]);
          if (point.is_weight()) point.quantizer->observe(*module_.find_tensor(point.value));
          point.quantizer->calibrate();
        },
        [&] { return point.place(); });
  }
}

}  // namespace sparsebit::quant
