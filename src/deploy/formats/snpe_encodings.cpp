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
  return read_json(content, "snpe_encodings", [](const View& json) {
    return read_encodings(json, [](const View& e) {
      return Encoding{
          .bits = e["bitwidth"].integer<int>(), .min = e["min"].number(), .max = e["max"].number()};
    });
  });
}

}  // namespace sparsebit::deploy
