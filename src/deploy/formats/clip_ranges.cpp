#include "deploy/formats/clip_ranges.h"

#include "deploy/format_limits.h"
#include "deploy/json_text.h"

#include <ATen/ATen.h>

namespace sparsebit::deploy {

std::vector<DeployFile> write_clip_ranges(const DeployModel& model) {
  Json blobs = Json::object();
  for (const TensorRange& range : ranges_within(model, {.format = "clip_ranges", .weights = false}))
    blobs[range.tensor] = range.high().item<double>();
  const Json json = {{"tensorrt", {{"blob_range", blobs}}}};
  return {{model.name() + "_clip_ranges.json", pretty(json)}};
}

ClipRanges read_clip_ranges(const std::string& content) {
  return read_json(content, "clip_ranges", [](const View& json) {
    ClipRanges found;
    for (const auto& [tensor, bound] : json["tensorrt"]["blob_range"].entries())
      found[tensor] = bound.number();
    return found;
  });
}

}  // namespace sparsebit::deploy
