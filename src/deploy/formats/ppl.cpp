#include "deploy/formats/ppl.h"

#include "deploy/format_limits.h"
#include "deploy/json_text.h"

namespace sparsebit::deploy {

std::vector<DeployFile> write_ppl(const DeployModel& model) {
  Json tensors = Json::object();
  for (const TensorRange& range : ranges_within(model, {.format = "ppl",
                                                       .channels = true,
                                                       .zero_points = true,
                                                       .least_bits = 2,
                                                       .most_bits = 16})) {
    tensors[range.tensor] = {{"step", number_or_list(range.scale)},
                             {"zero_point", number_or_list(range.zero_point)},
                             {"min", number_or_list(range.low())},
                             {"max", number_or_list(range.high())},
                             {"bit", range.bits},
                             {"type", "biased"}};
  }
  return {{model.name() + "_ppl.json", pretty({{"ppl", tensors}})}};
}

std::map<std::string, PplRange> read_ppl(const std::string& content) {
  return read_json(content, "ppl", [](const View& json) {
    std::map<std::string, PplRange> found;
    for (const auto& [tensor, range] : json["ppl"].entries()) {
      found[tensor] = {list_of(range["step"]), list_of(range["zero_point"]), list_of(range["min"]),
                       list_of(range["max"]), range["bit"].integer<int>()};
    }
    return found;
  });
}

}  // namespace sparsebit::deploy
