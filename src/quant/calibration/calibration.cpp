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
  depends_on_order_ = std::any_of(points.begin(), points.end(), [](const QuantPoint& point) {
    return !point.is_weight() && point.quantizer->new_observer()->depends_on_order();
  });
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
  Viewer& viewer = viewers_.emplace_back();
  viewer.interpreter = std::make_unique<fx::Interpreter>(module_, fx::RunMode::Inference);
  for (const QuantPoint& point : points_) {
    if (!point.is_weight())
      viewer.observers[module_.graph().find(point.name)] = point.quantizer->new_observer();
  }
  std::unordered_map<const fx::Node*, std::pair<const QuantPoint*, Observer*>> watched;
  for (const QuantPoint& point : points_) {
    const auto it = viewer.observers.find(module_.graph().find(point.name));
    if (it != viewer.observers.end()) watched[it->first] = {&point, it->second.get()};
  }
  viewer.interpreter->add_hook(
      {.before = {}, .after = [watched](const fx::Node& node, fx::Value& value) {
         const auto it = watched.find(&node);
         if (it == watched.end() || !value.is_tensor()) return;
         const auto [point, observer] = it->second;
         with_context([&] { point->quantizer->observe(value.tensor(), *observer); },
                      [&] { return point->place(); });
       }});
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
  for (const QuantPoint& point : points_) {
    with_context(
        [&] {
          for (Viewer& viewer : viewers_) {
            const auto seen = viewer.observers.find(module_.graph().find(point.name));
            if (seen != viewer.observers.end()) point.quantizer->merge(*seen->second);
          }
          if (point.is_weight()) point.quantizer->observe(*module_.find_tensor(point.value));
          point.quantizer->calibrate();
        },
        [&] { return point.place(); });
  }
}

}  // namespace sparsebit::quant
