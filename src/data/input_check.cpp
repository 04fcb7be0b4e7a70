#include "sparsebit/data/input_check.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

namespace sparsebit::data {

InputCheck::InputCheck(const ModelData& data) {
  for (const InputSpec& input : data.inputs()) {
    names_.push_back(input.name);
    seen_.emplace_back();
    for (const InputFeed& feed : data.feeds()) {
      if (feed.input != input.name) continue;
      seen_.back().is_normalized = !feed.preprocess.mean.empty() && !feed.preprocess.std.empty();
    }
  }
}

void InputCheck::look_at(const at::Tensor& values, Seen& seen) const {
  const at::Tensor x = values.to(at::kFloat);
  if (!at::isfinite(x).all().item<bool>()) {
    seen.is_finite = false;
    return;
  }
  const double low = x.min().item<double>(), high = x.max().item<double>();
  const bool first = seen.count == 0;
  if (first || low < seen.low) {
    seen.low = low;
    seen.at_low = 0;
  }
  if (first || high > seen.high) {
    seen.high = high;
    seen.at_high = 0;
  }
  seen.at_low += x.eq(seen.low).sum().item<int64_t>();
  seen.at_high += x.eq(seen.high).sum().item<int64_t>();
  seen.count += x.numel();
}

void InputCheck::add(const ModelData::Batch& batch) {
  for (size_t i = 0; i < batch.inputs.size(); ++i) {
    // Only float and uint8: ids, masks and flags are often constant.
    const at::ScalarType type = batch.inputs[i].scalar_type();
    const bool is_signal = at::isFloatingType(type) || type == at::kByte;
    if (is_signal && batch.inputs[i].numel() > 1) look_at(batch.inputs[i], seen_[i]);
  }
}

std::vector<std::string> InputCheck::warnings() const {
  constexpr double kMost = 0.95;      // 80 % of the pixels in MNIST are black
  constexpr double kFarthest = 30;    // normalized pixels are about -3 to 3
  constexpr double kNarrowest = 0.1;  // and their range is about 4
  std::vector<std::string> sentences;
  for (size_t i = 0; i < names_.size(); ++i) {
    const Seen& seen = seen_[i];
    const std::string input = "input '" + names_[i] + "'";
    const auto say = [&](const std::string& what) {
      sentences.push_back(input + " " + what + ": check the data and its preprocessing");
    };
    const double low_share = static_cast<double>(seen.at_low) / static_cast<double>(seen.count);
    const double high_share = static_cast<double>(seen.at_high) / static_cast<double>(seen.count);
    if (!seen.is_finite) {
      say("has NaN or infinities");
    } else if (seen.count == 0) {
      continue;
    } else if (seen.low == seen.high) {
      say(seen.low == 0 ? "is zero in all samples"
                        : fmt::format("is {:.4g} in all samples", seen.low));
    } else if (low_share > kMost || high_share > kMost) {
      say(fmt::format("is saturated: {:.0f} % of its values are at the bound {:.4g}",
                      100 * std::max(low_share, high_share),
                      low_share > kMost ? seen.low : seen.high));
    } else if (seen.is_normalized &&
               (std::max(std::abs(seen.low), std::abs(seen.high)) > kFarthest ||
                seen.high - seen.low < kNarrowest)) {
      say(
          fmt::format("ranges from {:.4g} to {:.4g} after mean and std, which normally give about "
                      "-3 to 3; scale, mean and std may be in different units (0..1 or 0..255)",
                      seen.low, seen.high));
    }
  }
  return sentences;
}

}  // namespace sparsebit::data
