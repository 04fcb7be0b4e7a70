#include "quant/calibration/samples.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::quant {
namespace {

bool has_batch(const fx::Value& value) { return value.is_tensor() && value.tensor().dim() > 0; }

int64_t batch_size(const std::vector<fx::Value>& batch) {
  int64_t size = -1;
  for (const fx::Value& value : batch) {
    if (!has_batch(value)) continue;
    SPARSEBIT_CHECK(size < 0 || size == value.tensor().size(0), InvalidArgument,
                    "the batch sizes (first axes) of the inputs differ, ", size, " and ",
                    value.tensor().size(0),
                    "; for inputs without a batch axis, call "
                    "prepare_calibration({.whole_batches = true})");
    size = value.tensor().size(0);
  }
  return size;
}

}  // namespace

std::vector<std::vector<fx::Value>> samples_of(const std::vector<fx::Value>& batch,
                                               int64_t at_once) {
  const int64_t size = batch_size(batch);
  if (size <= at_once) return {batch};
  SPARSEBIT_CHECK(size % at_once == 0, InvalidArgument, "the model takes ", at_once,
                  " samples at once, which does not divide a batch of ", size);
  std::vector<std::vector<fx::Value>> samples;
  for (int64_t start = 0; start < size; start += at_once) {
    std::vector<fx::Value>& sample = samples.emplace_back();
    for (const fx::Value& value : batch) {
      sample.push_back(has_batch(value) ? fx::Value(value.tensor().narrow(0, start, at_once))
                                        : value);
    }
  }
  return samples;
}

fx::Value joined(const std::vector<fx::Value>& results) {
  if (results.size() == 1) return results.front();
  const fx::Value& first = results.front();
  if (first.is_tensor()) {
    std::vector<at::Tensor> parts;
    for (const fx::Value& result : results) parts.push_back(result.tensor());
    return first.tensor().dim() > 0 ? at::cat(parts) : at::stack(parts);
  }
  if (!first.is_sequence()) return first;
  std::vector<fx::Value> items;
  for (size_t i = 0; i < first.items().size(); ++i) {
    std::vector<fx::Value> parts;
    for (const fx::Value& result : results) parts.push_back(result.items()[i]);
    items.push_back(joined(parts));
  }
  return first.is<fx::Tuple>() ? fx::Value(fx::Tuple(std::move(items)))
                               : fx::Value(fx::List(std::move(items)));
}

}  // namespace sparsebit::quant
