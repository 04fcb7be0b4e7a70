// Formats with entries per layer: written, parsed and compared with the model.

#include "deploy/deploy_case.h"
#include "deploy/formats/ncnn_table.h"
#include "deploy/formats/nnie.h"
#include "deploy/formats/stpu_minmax.h"
#include "deploy/formats/tengine_scale.h"

#include "sparsebit/core/error.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::deploy::test::layer_formats_test {
namespace {

using quant::QuantModel;
using testing::ElementsAre;
using testing::Key;
using testing::UnorderedElementsAre;

double scale_of(const DeployModel& model, const std::string& tensor) {
  return range_of(model, tensor).scale.item<double>();
}

quant::QConfig per_tensor_config() {
  return config_of("per-tensor-symmetric", "per-tensor-symmetric", "BIT: 8, RESTRICTED: true");
}

TEST(Nnie, HasTheLargestOfEachQuantizedInput) {
  const QuantModel model = calibrated_net(per_tensor_config());
  const DeployModel deployed(model, "net");
  const std::vector<DeployFile> files = write_nnie(deployed);
  EXPECT_EQ(files.front().name, "net_gfpq_param_dict.json");
  const auto found = read_nnie(files.front().content);
  // No entries for relu, relu6, flatten, global average pooling and the depthwise convolution.
  EXPECT_THAT(found, ElementsAre(Key("a"), Key("add"), Key("fc"), Key("stem"), Key("up")));
  const auto largest = [&](const char* tensor) { return 127 * scale_of(deployed, tensor); };
  EXPECT_THAT(found.at("stem"), ElementsAre(largest("x"), largest("stem.weight")));
  EXPECT_THAT(found.at("add"), ElementsAre(largest("a"), largest("relu")));
  EXPECT_THAT(found.at("up"), ElementsAre(largest("pool"), largest("up.weight")));
}

TEST(TengineScale, ConvolutionsHaveTheRangeOfTheReluBehindThem) {
  const QuantModel model = calibrated_net(affine_config());
  const DeployModel deployed(model, "net");
  const std::vector<DeployFile> files = write_tengine_scale(deployed);
  EXPECT_EQ(files.front().name, "net_for_tengine.scale");
  const auto found = read_tengine_scale(files.front().content);
  EXPECT_THAT(found, UnorderedElementsAre(Key("x"), Key("stem"), Key("relu"), Key("a"), Key("pool"),
                                          Key("up"), Key("dw"), Key("relu6"), Key("flatten"),
                                          Key("adaptive_avg_pool2d")));
  for (const auto& [tensor, source] :
       {std::pair{"x", "x"}, {"stem", "relu"}, {"dw", "relu6"}, {"up", "up"}}) {
    const TensorRange& range = range_of(deployed, source);
    EXPECT_EQ(found.at(tensor).scale, range.scale.item<float>()) << tensor;
    EXPECT_EQ(found.at(tensor).zero_point, range.zero_point.item<float>()) << tensor;
  }
}

TEST(StpuMinMax, HasRangesOfLayersWithBiasesAndReluFused) {
  const QuantModel model = calibrated_net(per_tensor_config());
  const DeployModel deployed(model, "net");
  const std::vector<DeployFile> files = write_stpu_minmax(deployed);
  EXPECT_EQ(files.front().name, "net_stpu_minmax.json");
  const StpuRanges found = read_stpu_minmax(files.front().content);
  for (const char* tensor : {"x", "relu", "a", "pool", "up", "relu6", "flatten"}) {
    EXPECT_EQ(found.tensors.at(tensor).max, 127 * scale_of(deployed, tensor)) << tensor;
    EXPECT_EQ(found.tensors.at(tensor).min, -127 * scale_of(deployed, tensor)) << tensor;
  }
  EXPECT_EQ(found.tensors.at("stem").max, 127 * scale_of(deployed, "relu"));
  EXPECT_EQ(found.tensors.at("dw").max, 127 * scale_of(deployed, "relu6"));
  EXPECT_EQ(found.tensors.at("up_weights").max, 127 * scale_of(deployed, "up.weight"));
  EXPECT_THAT(found.biases, ElementsAre(Key("a_bias"), Key("dw_bias"), Key("fc_bias"),
                                        Key("stem_bias"), Key("up_bias")));
  EXPECT_EQ(found.biases.at("stem_bias"),
            scale_of(deployed, "stem.weight") * scale_of(deployed, "x"));
}

TEST(StpuMinMax, ConcatHasOneRangeAndSigmoidItsOwn) {
  class Both : public nn::Module {
   public:
    Both() : Module("Both", "x") {
      add_module("a", nn::Conv2d(3, 4, 1));
      add_module("sigmoid", nn::Sigmoid());
      add_module("b", nn::Conv2d(7, 4, 1));
    }
    nn::Value forward(const nn::Args& in) override {
      const nn::Value x = in["x"];
      return call("sigmoid", call("b", nn::cat({call("a", x), x}, 1)));
    }
  };
  Both net;
  nn::reset_parameters(net, 1);
  const QuantModel model = calibrated(net, per_tensor_config());
  const DeployModel deployed(model);
  const StpuRanges found = read_stpu_minmax(write_stpu_minmax(deployed).front().content);
  const double shared = 127 * scale_of(deployed, "cat");
  for (const char* tensor : {"a", "x", "cat"}) EXPECT_EQ(found.tensors.at(tensor).max, shared);
  EXPECT_EQ(found.tensors.at("sigmoid").min, -1);
}

void expect_table(const DeployModel& model) {
  const std::vector<DeployFile> files = write_ncnn_table(model);
  EXPECT_EQ(files.front().name, "net.table");
  const NcnnTable found = read_ncnn_table(files.front().content);
  EXPECT_THAT(found.weights, ElementsAre(Key("a"), Key("dw"), Key("fc"), Key("stem")));
  EXPECT_THAT(found.inputs, ElementsAre(Key("a"), Key("dw"), Key("fc"), Key("stem")));
  EXPECT_EQ(found.inputs.at("stem"), 1 / range_of(model, "x").scale.item<float>());
  EXPECT_EQ(found.inputs.at("fc"), 1 / range_of(model, "flatten").scale.item<float>());
  const std::map<std::string, size_t> counts = {{"stem", 8}, {"a", 8}, {"dw", 6}, {"fc", 5}};
  for (const auto& [layer, count] : counts) {
    const at::Tensor scales =
        1 / range_of(model, layer + ".weight").scale.expand({static_cast<int64_t>(count)});
    ASSERT_EQ(found.weights.at(layer).size(), count);
    for (size_t i = 0; i < count; ++i)
      EXPECT_EQ(found.weights.at(layer)[i], scales[static_cast<int64_t>(i)].item<float>());
  }
}

TEST(NcnnTable, HasIntegersPerUnitOfWeightsAndInputs) {
  for (const quant::QConfig& config : {symmetric_config(), per_tensor_config()}) {
    const QuantModel model = calibrated_net(config);
    expect_table(DeployModel(model, "net"));
  }
}

TEST(NcnnTable, GroupsHaveOneScaleEach) {
  class Grouped : public nn::Module {
   public:
    Grouped() : Module("Grouped", "x") { add_module("g", nn::Conv2d(3, 6, 1, {{"groups", 3}})); }
    nn::Value forward(const nn::Args& in) override { return call("g", in["x"]); }
  };
  Grouped net;
  nn::reset_parameters(net, 1);
  const QuantModel model = calibrated(net, symmetric_config());
  EXPECT_THAT([&] { write_ncnn_table(DeployModel(model)); },
              testing::ThrowsMessage<Error>(
                  "format 'ncnn_table': weight 'g.weight': expected one scale for each of the 3 "
                  "groups, found one for each of 6 channels"));
}

}  // namespace
}  // namespace sparsebit::deploy::test::layer_formats_test
