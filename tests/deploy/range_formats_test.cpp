// Formats with entries per tensor: written, parsed and compared with the model.

#include "deploy/deploy_case.h"
#include "deploy/formats/clip_ranges.h"
#include "deploy/formats/ppl.h"
#include "deploy/formats/ppl_cuda.h"
#include "deploy/formats/qnn_encodings.h"
#include "deploy/formats/snpe_encodings.h"
#include "deploy/formats/tensorrt_cache.h"
#include "deploy/formats/vitis.h"
#include "deploy/json_text.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sparsebit::deploy::test::range_formats_test {
namespace {

using quant::QuantModel;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

/// The file of a format that writes exactly one.
DeployFile only(const std::vector<DeployFile>& files) {
  EXPECT_EQ(files.size(), 1u);
  return files.front();
}

size_t count(const DeployModel& model, TensorKind kind) {
  size_t n = 0;
  for (const TensorRange& range : model.ranges()) n += range.kind == kind;
  return n;
}

TEST(ClipRanges, AreThoseOfTheActivations) {
  for (const char* more : {"BIT: 8, RESTRICTED: true", "BIT: 8"}) {
    const QuantModel model =
        calibrated_net(config_of("per-channel-symmetric", "per-tensor-symmetric", more));
    const DeployModel deployed(model, "net");
    const DeployFile file = only(write_clip_ranges(deployed));
    EXPECT_EQ(file.name, "net_clip_ranges.json");
    const ClipRanges found = read_clip_ranges(file.content);
    EXPECT_EQ(found.size(), count(deployed, TensorKind::Activation));
    for (const auto& [tensor, range] : found)
      EXPECT_EQ(range, 127. * range_of(deployed, tensor).scale.item<double>()) << tensor;
    EXPECT_EQ(found.at("flatten"), found.at("adaptive_avg_pool2d"));
  }
}

TEST(TensorRtCache, HasTheBitsOfEachScale) {
  const QuantModel model = calibrated_net(symmetric_config());
  const DeployModel deployed(model, "net");
  const DeployFile file = only(write_tensorrt_cache(deployed));
  EXPECT_EQ(file.name, "net_calibration.cache");
  EXPECT_THAT(file.content, StartsWith("TRT-8600-EntropyCalibration2\nx: "));
  const TensorRtCache found = read_tensorrt_cache(file.content);
  EXPECT_EQ(found.header, "TRT-8600-EntropyCalibration2");
  EXPECT_EQ(found.scales.size(), count(deployed, TensorKind::Activation));
  for (const auto& [tensor, scale] : found.scales)
    EXPECT_EQ(scale, range_of(deployed, tensor).scale.item<float>()) << tensor;
}

TEST(TensorRtCache, TextThatIsSomethingElseIsAnError) {
  EXPECT_EQ(read_tensorrt_cache("TRT-1-X\na: 3f800000\n").scales.at("a"), 1.f);
  EXPECT_THAT(
      [] { read_tensorrt_cache("a: 3f800000\n"); },
      ThrowsMessage<Error>("tensorrt_cache: expected a first line that starts with 'TRT-'"));
  EXPECT_THAT([] { read_tensorrt_cache("TRT-1-X\na: zzz\n"); },
              ThrowsMessage<Error>("tensorrt_cache: 'zzz' is not a hexadecimal number"));
}

void expect_encodings(const Encodings& found, const DeployModel& model, bool has_scale) {
  EXPECT_EQ(found.activations.size(), count(model, TensorKind::Activation));
  EXPECT_EQ(found.params.size(), count(model, TensorKind::Weight));
  for (const TensorRange& range : model.ranges()) {
    const auto& side = range.kind == TensorKind::Weight ? found.params : found.activations;
    const std::vector<Encoding>& list = side.at(range.tensor);
    const std::vector<double> scale = numbers_of(range.scale), zero = numbers_of(range.zero_point);
    ASSERT_EQ(list.size(), scale.size()) << range.tensor;
    for (size_t i = 0; i < list.size(); ++i) {
      EXPECT_EQ(list[i].bits, range.bits);
      EXPECT_EQ(list[i].min, (static_cast<double>(range.qmin) - zero[i]) * scale[i]);
      EXPECT_EQ(list[i].max, (static_cast<double>(range.qmax) - zero[i]) * scale[i]);
      if (!has_scale) continue;
      EXPECT_EQ(list[i].scale, scale[i]);
      EXPECT_EQ(list[i].scale * static_cast<double>(list[i].offset), list[i].min);
      EXPECT_EQ(list[i].is_symmetric, range.qmin < 0);
    }
  }
}

TEST(Encodings, OfSnpeAndQnnAreTheModels) {
  for (const quant::QConfig& config :
       {affine_config(), symmetric_config(),
        config_of("per-channel-affine", "per-tensor-affine", "BIT: 8"),
        config_of("per-tensor-symmetric", "per-tensor-affine", "BIT: 16")}) {
    const QuantModel model = calibrated_net(config);
    const DeployModel deployed(model, "net");
    const DeployFile snpe = only(write_snpe_encodings(deployed));
    const DeployFile qnn = only(write_qnn_encodings(deployed));
    EXPECT_EQ(snpe.name, "net_snpe_encodings.json");
    EXPECT_EQ(qnn.name, "net_qnn_encodings.json");
    expect_encodings(read_snpe_encodings(snpe.content), deployed, false);
    expect_encodings(read_qnn_encodings(qnn.content), deployed, true);
  }
}

TEST(Encodings, OfQnnHaveTheFieldsThatAimetWrites) {
  const QuantModel model = calibrated_net(affine_config());
  const Json json = Json::parse(only(write_qnn_encodings(DeployModel(model))).content);
  const Json& x = json.at("activation_encodings").at("x").at(0);
  EXPECT_EQ(x.size(), 7u);
  EXPECT_EQ(x.at("dtype"), "int");
  EXPECT_EQ(x.at("is_symmetric"), "False");
  EXPECT_LT(x.at("offset").get<int>(), 0);
  EXPECT_EQ(json.at("version"), "0.6.1");
}

TEST(Ppl, HasStepsAndRangesOfActivationsAndWeights) {
  for (const quant::QConfig& config :
       {affine_config(), config_of("per-channel-affine", "per-tensor-affine", "BIT: 8")}) {
    const QuantModel model = calibrated_net(config);
    const DeployModel deployed(model, "net");
    const DeployFile file = only(write_ppl(deployed));
    EXPECT_EQ(file.name, "net_ppl.json");
    const auto found = read_ppl(file.content);
    EXPECT_EQ(found.size(), deployed.ranges().size());
    for (const TensorRange& range : deployed.ranges()) {
      const PplRange& read = found.at(range.tensor);
      EXPECT_EQ(read.step, numbers_of(range.scale));
      EXPECT_EQ(read.zero_point, numbers_of(range.zero_point));
      EXPECT_EQ(read.min, numbers_of(range.low()));
      EXPECT_EQ(read.max, numbers_of(range.high()));
      EXPECT_EQ(read.bit, range.bits);
    }
  }
}

TEST(PplCuda, HasTheLargestMagnitudeOfActivations) {
  const QuantModel model = calibrated_net(affine_config());
  const DeployModel deployed(model, "net");
  const DeployFile file = only(write_ppl_cuda(deployed));
  EXPECT_EQ(file.name, "net_ppl_cuda.txt");
  const auto found = read_ppl_cuda(file.content);
  EXPECT_EQ(found.size(), count(deployed, TensorKind::Activation));
  for (const auto& [tensor, largest] : found) {
    const TensorRange& range = range_of(deployed, tensor);
    EXPECT_EQ(largest, std::max(-range.low().item<double>(), range.high().item<double>()));
  }
}

TEST(Vitis, HasScalesAndFixPositions) {
  const QuantModel model = calibrated_net(power_of_two_config());
  const DeployModel deployed(model, "net");
  const DeployFile file = only(write_vitis(deployed));
  EXPECT_EQ(file.name, "net_vitis.json");
  const auto found = read_vitis(file.content);
  EXPECT_EQ(found.size(), deployed.ranges().size());
  for (const TensorRange& range : deployed.ranges()) {
    const VitisRange& read = found.at(range.tensor);
    EXPECT_EQ(read.scale, range.scale.item<double>());
    EXPECT_EQ(std::ldexp(1., -read.fix_pos), read.scale);
  }
}

/// The per-tensor weight of a transposed convolution is listed as a weight, not as an activation.
TEST(RangeFormats, WeightsOfTransposedConvolutionsAreWeights) {
  const QuantModel model = calibrated_net(affine_config());
  const DeployModel deployed(model);
  const Encodings found = read_snpe_encodings(only(write_snpe_encodings(deployed)).content);
  EXPECT_TRUE(found.params.contains("up.weight"));
  EXPECT_FALSE(found.activations.contains("up.weight"));
  EXPECT_FALSE(read_ppl_cuda(only(write_ppl_cuda(deployed)).content).contains("up.weight"));
}

/// The batch norm is folded into the linear layer, whose weight is quantized like others.
TEST(RangeFormats, LinearLayersWithBatchNormKeepTheirWeight) {
  const QuantModel model = calibrated_net(symmetric_config());
  const DeployModel deployed(model);
  const Encodings found = read_qnn_encodings(only(write_qnn_encodings(deployed)).content);
  EXPECT_EQ(found.params.at("fc.weight").size(), 5u);
  EXPECT_THAT(
      [] { read_qnn_encodings("{}"); },
      testing::Throws<Error>(testing::Property(
          &Error::what, HasSubstr("qnn_encodings: the key 'activation_encodings' is missing"))));
}

}  // namespace
}  // namespace sparsebit::deploy::test::range_formats_test
