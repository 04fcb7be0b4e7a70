#include "deploy/formats/qnn_encodings.h"

#include "deploy/format_limits.h"

namespace sparsebit::deploy {

std::vector<DeployFile> write_qnn_encodings(const DeployModel& model) {
  const std::vector<TensorRange> ranges = ranges_within(model, {.format = "qnn_encodings",
                                                                .channels = true,
                                                                .zero_points = true,
                                                                .least_bits = 4,
                                                                .most_bits = 16});
  Json json = encodings_json(ranges, [](const Encoding& e) {
    return Json{
        {"bitwidth", e.bits}, {"dtype", "int"}, {"is_symmetric", e.is_symmetric ? "True" : "False"},
        {"max", e.max},       {"min", e.min},   {"offset", e.offset},
        {"scale", e.scale}};
  });
  json["version"] = "0.6.1";
  return {{model.name() + "_qnn_encodings.json", pretty(json)}};
}

Encodings read_qnn_encodings(const std::string& content) {
  return read_json(content, "qnn_encodings", [](const View& json) {
    return read_encodings(json, [](const View& e) {
      return Encoding{.bits = e["bitwidth"].integer<int>(),
                      .min = e["min"].number(),
                      .max = e["max"].number(),
                      .scale = e["scale"].number(),
                      .offset = e["offset"].integer(),
                      .is_symmetric = e["is_symmetric"].text() == "True"};
    });
  });
}

}  // namespace sparsebit::deploy
