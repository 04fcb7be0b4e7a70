#include "sparsebit/metrics/average_precision.h"

#include "sparsebit/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

namespace sparsebit::metrics::average_precision_test {
namespace {

using testing::ThrowsMessage;

Box box_of(const nlohmann::json& corners) {
  return {corners[0], corners[1], corners[2], corners[3]};
}

/// Boxes and expected pycocotools results are from scripts/make_average_precision_fixture.py.
TEST(AveragePrecision, GivesTheNumbersOfPycocotools) {
  std::ifstream file(SPARSEBIT_METRICS_FIXTURES "/average_precision.json");
  const nlohmann::json fixture = nlohmann::json::parse(file);
  AveragePrecision meter;
  for (const nlohmann::json& image : fixture["images"]) {
    std::vector<Detection> found;
    std::vector<TrueBox> truth;
    for (const nlohmann::json& box : image["found"])
      found.push_back({box_of(box["box"]), box["score"], box["label"]});
    for (const nlohmann::json& box : image["truth"])
      truth.push_back({box_of(box["box"]), box["label"], box["crowd"]});
    meter.add(found, truth);
  }
  const MeanAveragePrecision result = meter.result();
  const nlohmann::json& expected = fixture["expected"];
  EXPECT_EQ(result.images, 30);
  EXPECT_NEAR(result.map, expected["map"].get<double>(), 1e-12);
  EXPECT_NEAR(result.map50, expected["map50"].get<double>(), 1e-12);
  ASSERT_EQ(result.classes.size(), expected["classes"].size());
  for (size_t i = 0; i < result.classes.size(); ++i) {
    EXPECT_EQ(result.classes[i].label, expected["classes"][i]["label"]);
    EXPECT_NEAR(result.classes[i].ap, expected["classes"][i]["ap"].get<double>(), 1e-12);
    EXPECT_NEAR(result.classes[i].ap50, expected["classes"][i]["ap50"].get<double>(), 1e-12);
  }
}

TEST(AveragePrecision, ByHand) {
  AveragePrecision meter;
  // Two objects: one detected exactly, one with IoU 0.72; a false detection between them.
  meter.add({{{0, 0, 10, 10}, 0.9, 3}, {{50, 50, 60, 60}, 0.8, 3}, {{20, 0, 30, 7.2}, 0.7, 3}},
            {{{0, 0, 10, 10}, 3}, {{20, 0, 30, 10}, 3}});
  const MeanAveragePrecision result = meter.result();
  // Precision 1 up to recall 0.5 (51 of 101 recalls), then 2/3.
  const double at_half = (51 + 50 * 2. / 3) / 101, beyond = 51. / 101;
  EXPECT_NEAR(result.map50, at_half, 1e-12);
  EXPECT_NEAR(result.map, (5 * at_half + 5 * beyond) / 10, 1e-12);
  EXPECT_EQ(result.classes.at(0).objects, 2);
}

TEST(AveragePrecision, NeedsObjects) {
  AveragePrecision meter;
  meter.add({{{0, 0, 1, 1}, 0.5, 0}}, {});
  EXPECT_THAT([&] { meter.result(); },
              ThrowsMessage<Error>("mAP needs ground-truth boxes, but no image has one"));
}

}  // namespace
}  // namespace sparsebit::metrics::average_precision_test
