#include "deploy/formats/snpe_encodings.h"

#include "deploy/format_limits.h"

namespace sparsebit::deploy {

std::vector<DeployFile> write_snpe_encodings(const DeployModel& model) {
  const std::vector<TensorRange> ranges = ranges_within(model, {.format = "snpe_encodings",
                                                                .channels = true,
                                                                .zero_points = true,
                                                                .least_bits = 4,
                                                                .most_bits = 16});
  const Json json = encodings_json(ranges, [](const Encoding& e) {
    return Json{{"bitwidth", e.bits}, {"min", e.min}, {"max", e.max}};
  });
  return {{model.name() + "_snpe_encodings.json", pretty(json)}};
}

Encodings read_snpe_encodings(const std::string& content) {
  return read_json(content, "snpe_encodings", [](const Json& json) {
    return read_encodings(json, [](const Json& e) {
      return Encoding{.bits = e.at("bitwidth").get<int>(),
                      .min = e.at("min").get<double>(),
                      .max = e.at("max").get<double>()};
    });
  });
}

}  // namespace sparsebit::deploy
