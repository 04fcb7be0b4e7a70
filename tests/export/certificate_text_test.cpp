#include "sparsebit/export/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <limits>
#include <string>

namespace sparsebit::exports::test::certificate_text_test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Passes: read again and in ONNX Runtime.
Certificate passed() {
  const OutputDifference output{
      .output = "y", .step = 0.5, .largest = 2, .of_most = 0.25, .relative = 0.01, .snr = 40};
  return {.samples = 16,
          .expected = "simulation",
          .comparisons = {{.runner = Runner::ReadAgain, .outputs = {output}, .limit = 1},
                          {.runner = Runner::Optimized, .outputs = {output}, .limit = 1}},
          .onnxruntime = "1.30.0",
          .processor = "a processor"};
}

MeasuredSpeed speed(double original, double quantized, double cpu_quantized) {
  return measured_speed({{original}, {original}}, {{quantized}, {cpu_quantized}});
}

TEST(CertificateText, FirstLineIsTheVerdict) {
  Certificate certificate = passed();
  EXPECT_THAT(to_text(certificate),
              testing::StartsWith("certificate: passed (16 samples; differences from the "
                                  "simulation, in quantization steps)\n"));
  certificate.samples = 1;
  EXPECT_THAT(to_text(certificate), testing::StartsWith("certificate: passed (1 sample; "));
  certificate.without_runtime = true;
  EXPECT_THAT(to_text(certificate),
              testing::StartsWith("certificate: passed without ONNX Runtime (1 sample; "));
  certificate.comparisons[1].passed = false;
  EXPECT_THAT(to_text(certificate), testing::StartsWith("certificate: FAILED (1 sample; "));
}

TEST(CertificateText, ALineShowsTheWorstOutput) {
  Certificate certificate = passed();
  auto& outputs = certificate.comparisons[0].outputs;
  outputs.push_back({.output = "z", .largest = 7, .of_most = 0.125, .relative = 0.5});
  outputs[0].answer = 0.9375;
  EXPECT_THAT(to_text(certificate),
              HasSubstr("\n  file, read again              0.25          7        0.5       "
                        "93.8 %\n"));
  EXPECT_THAT(to_text(certificate), Not(HasSubstr("above the limit")));
  certificate.comparisons[0].passed = false;
  EXPECT_THAT(to_text(certificate), HasSubstr("93.8 %  above the limit\n"));
  certificate.comparisons[1] = {.runner = Runner::Optimized, .missing = "no reason"};
  EXPECT_THAT(to_text(certificate), HasSubstr("ONNX Runtime, optimized  not compared: no reason"));
}

TEST(CertificateText, QualityIsExplainedUnlessItIsGood) {
  Certificate certificate = passed();
  certificate.quality = quality_of(27.34, 0.938, 16);
  EXPECT_THAT(to_text(certificate), HasSubstr("  quality: good (27.3 dB SNR against the float "
                                              "model, same top-1 for 93.8 %)\n"));
  EXPECT_THAT(to_text(certificate), Not(HasSubstr("note:")));
  certificate.quality = quality_of(12, 0.938, 3);
  EXPECT_THAT(to_text(certificate), HasSubstr("  quality: degraded (12.0 dB"));
  EXPECT_THAT(to_text(certificate), HasSubstr("93.8 %, too few samples to judge top-1)\n"));
  EXPECT_THAT(to_text(certificate), HasSubstr("note: some layers have too few bits"));
  certificate.quality.reset();
  EXPECT_THAT(to_text(certificate), Not(HasSubstr("quality")));
  certificate.selects_boxes = true;
  EXPECT_THAT(to_text(certificate), HasSubstr("quality: not judged: outputs are boxes"));
}

TEST(CertificateText, SpeedHasOneNoteAtMost) {
  Certificate certificate = passed();
  certificate.speed = speed(10, 5, 5);
  EXPECT_THAT(to_text(certificate),
              HasSubstr("  speed in ONNX Runtime 1.30.0: 10.00 -> 5.00 ms, 2.00 times as fast "
                        "(fastest of 1 runs, 1 thread, a processor)\n"));
  EXPECT_THAT(to_text(certificate), Not(HasSubstr("note:")));
  certificate.speed = speed(10, 10.2, 10.2);  // two measurements of one file differ as much
  EXPECT_THAT(to_text(certificate), Not(HasSubstr("note:")));
  certificate.speed = speed(10, 11, 11);
  EXPECT_THAT(to_text(certificate), HasSubstr("note: slower than the float model"));
  certificate.speed = speed(10, 20, 5);
  EXPECT_THAT(to_text(certificate),
              HasSubstr("note: unstable machine: 0.50 times by medians, 2.00 by CPU time"));
  EXPECT_THAT(to_text(certificate), Not(HasSubstr("slower than the float model")));
}

TEST(CertificateText, RoundingAndFloatModelsAreNoted) {
  Certificate certificate = passed();
  EXPECT_THAT(to_text(certificate), Not(HasSubstr("float rounding")));
  certificate.rounding = 1.25;
  certificate.is_quantized = false;
  EXPECT_THAT(to_text(certificate), HasSubstr("float rounding alone moves the outputs by 1.25 "));
  EXPECT_THAT(to_text(certificate), HasSubstr("note: the file has no quantized nodes"));
}

/// JSON has no infinity.
TEST(CertificateText, NumbersInJson) {
  Certificate certificate = passed();
  certificate.comparisons[0].outputs[0].snr = std::numeric_limits<double>::infinity();
  certificate.comparisons[1].limit.reset();
  const auto json = nlohmann::json::parse(to_json(certificate));
  EXPECT_EQ(json["verdict"], "passed");
  const auto& comparisons = json["comparisons"];
  EXPECT_TRUE(comparisons[0]["outputs"][0]["snr_db"].is_null());
  EXPECT_EQ(comparisons[1]["outputs"][0]["snr_db"], 40);
  EXPECT_EQ(comparisons[0]["limit"], 1);
  EXPECT_FALSE(comparisons[1].contains("passed"));  // reported, not judged
  EXPECT_FALSE(json.contains("rounding_steps"));
}

}  // namespace
}  // namespace sparsebit::exports::test::certificate_text_test
