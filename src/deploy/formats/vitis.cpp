#include "deploy/formats/vitis.h"

#include "deploy/format_limits.h"
#include "deploy/json_text.h"

#include <ATen/ATen.h>

#include <cmath>

namespace sparsebit::deploy {

std::vector<DeployFile> write_vitis(const DeployModel& model) {
  Json tensors = Json::object();
  for (const TensorRange& range :
       ranges_within(model, {.format = "vitis", .powers_of_two = true})) {
    const double scale = range.scale.item<double>();
    tensors[range.tensor] = {{"scale", scale}, {"fix_pos", -std::ilogb(scale)}};
  }
  return {{model.name() + "_vitis.json", pretty({{"vitis", tensors}})}};
}

std::map<std::string, VitisRange> read_vitis(const std::string& content) {
  return read_json(content, "vitis", [](const View& json) {
    std::map<std::string, VitisRange> found;
    for (const auto& [tensor, range] : json["vitis"].entries())
      found[tensor] = {range["scale"].number(), range["fix_pos"].integer<int>()};
    return found;
  });
}

}  // namespace sparsebit::deploy
