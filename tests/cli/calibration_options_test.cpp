#include "cli/calibration_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

namespace sparsebit::cli::test::calibration_options_test {
namespace {

using testing::ElementsAre;

CalibrationOptions parsed(const std::string& line) {
  CLI::App app;
  CalibrationOptions options;
  add_calibration_options(app, options);
  app.parse(line);
  return options;
}

TEST(CalibrationOptions, TakeTheValuesOfTheCommandLine) {
  const CalibrationOptions options = parsed(
      "m.onnx -c q.yaml --platform snpe --custom c.yaml --exclude a* --exclude b --data images "
      "--samples 8 --requantize --sequential --json --seed 3");
  EXPECT_EQ(options.model, "m.onnx");
  EXPECT_EQ(options.config, "q.yaml");
  EXPECT_EQ(options.platform, "snpe");
  EXPECT_EQ(options.custom, "c.yaml");
  EXPECT_THAT(options.exclude, ElementsAre("a*", "b"));
  EXPECT_EQ(options.data.data, "images");
  EXPECT_EQ(options.data.samples, 8);
  EXPECT_TRUE(options.requantize);
  EXPECT_TRUE(options.sequential);
  EXPECT_TRUE(options.json);
  EXPECT_EQ(options.common.seed, 3u);
}

TEST(CalibrationOptions, OnlyTheModelIsRequired) {
  EXPECT_EQ(parsed("m.onnx").data.data, "");
  EXPECT_THROW(parsed(""), CLI::RequiredError);
}

TEST(CalibrationOptions, RandomDataExcludesData) {
  EXPECT_TRUE(parsed("m.onnx --random-data").data.random);
  EXPECT_THROW(parsed("m.onnx --random-data --data images"), CLI::ExcludesError);
}

TEST(CalibrationOptions, InvalidValuesAreErrors) {
  EXPECT_THROW(parsed("m.onnx --platform none"), CLI::ValidationError);
  EXPECT_THROW(parsed("m.onnx --samples -1"), CLI::ValidationError);
}

}  // namespace
}  // namespace sparsebit::cli::test::calibration_options_test
