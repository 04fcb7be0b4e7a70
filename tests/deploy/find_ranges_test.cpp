#include "deploy/find_ranges.h"

#include "deploy/deploy_case.h"
#include "deploy/onnx_links.h"

#include "sparsebit/core/yaml.h"
#include "sparsebit/frontends/onnx.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"
#include "sparsebit/quant/quantizers/bias.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <map>

namespace sparsebit::deploy::test::find_ranges_test {
namespace {

using quant::QuantModel;
using testing::ElementsAre;

/// "weight stem.weight of stem"
std::vector<std::string> outline(const DeployModel& model) {
  std::vector<std::string> lines;
  for (const TensorRange& range : model.ranges())
    lines.push_back(to_string(range.kind) + " " + range.tensor + " of '" + range.layer + "'" +
                    (range.inherited ? " inherited" : ""));
  return lines;
}

TEST(FindRanges, TensorsHaveTheNamesOfTheCleanFile) {
  const QuantModel model = calibrated_net(symmetric_config());
  EXPECT_THAT(outline(DeployModel(model)),
              ElementsAre("activation x of ''", "activation relu of 'relu'", "activation a of 'a'",
                          "activation pool of 'pool'", "activation up of 'up'",
                          "activation relu6 of 'relu6'", "activation flatten of 'flatten'",
                          "activation adaptive_avg_pool2d of 'adaptive_avg_pool2d' inherited",
                          "weight stem.weight of 'stem'", "weight a.weight of 'a'",
                          "weight up.weight of 'up'", "weight dw.weight of 'dw'",
                          "weight fc.weight of 'fc'"));
}

/// Float biases have no range, corrected or not; the clean file has the corrected ones.
TEST(FindRanges, CorrectedBiases) {
  quant::QConfig config = symmetric_config();
  const std::vector<std::string> plain = outline(DeployModel(calibrated_net(config)));
  config.schedule.bias_correction = true;
  const QuantModel model = calibrated_net(config);
  const DeployModel deployed(model);
  EXPECT_EQ(outline(deployed), plain);
  const auto again = frontends::import_onnx(onnx::ModelProto(deployed.clean()));
  const auto& corrected = dynamic_cast<const quant::Bias&>(model.quantizer("stem_bias_quantizer"));
  const at::Tensor bias = *model.module().find_tensor("stem.bias");
  EXPECT_FALSE(at::equal(corrected.corrected(bias), bias));
  EXPECT_TRUE(at::equal(*again->find_tensor("stem.bias"), corrected.corrected(bias)));
}

TEST(FindRanges, NumbersAreTheQuantizers) {
  const QuantModel model = calibrated_net(affine_config());
  const DeployModel deployed(model);
  for (const quant::QuantPoint& point : model.points()) {
    const TensorRange& range = range_of(deployed, point.value);
    const quant::QParams found = point.quantizer->final_qparams();
    EXPECT_TRUE(at::equal(range.scale, found.scale)) << point.value;
    EXPECT_TRUE(at::equal(range.zero_point, found.zero_point)) << point.value;
    EXPECT_EQ(range.qmin, 0);
    EXPECT_EQ(range.qmax, 255);
    EXPECT_EQ(range.is_per_channel(), false);
  }
}

/// The input of a Flatten inherits the range of its output, also through several such nodes.
TEST(FindRanges, CopiesInheritFromTheNearestRangeBehindThem) {
  onnx::GraphProto graph;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(node { name: "gap" op_type: "GlobalAveragePool" input: "x" output: "gap" }
         node { op_type: "Reshape" input: "gap" input: "shape" output: "r" }
         node { op_type: "Flatten" input: "r" output: "f" }
         node { op_type: "Relu" input: "f" output: "y" })",
      &graph));
  std::vector<TensorRange> ranges = {{.tensor = "f",
                                      .scale = at::scalar_tensor(0.5),
                                      .zero_point = at::scalar_tensor(0),
                                      .qmin = -127,
                                      .qmax = 127}};
  propagate_ranges(graph, ranges);
  ASSERT_EQ(ranges.size(), 3u);
  EXPECT_EQ(ranges[1].tensor, "r");
  EXPECT_EQ(ranges[2].tensor, "gap");
  EXPECT_EQ(ranges[2].layer, "gap");
  EXPECT_TRUE(ranges[2].inherited);
  EXPECT_EQ(ranges[2].high().item<double>(), 63.5);
}

TEST(FindRanges, OutputThatIsQuantizedForNobodyHasARange) {
  class Last : public nn::Module {
   public:
    Last() : Module("Last", "x") { add_module("conv", nn::Conv2d(3, 4, 1)); }
    nn::Value forward(const nn::Args& in) override { return call("conv", in["x"]); }
  };
  Last net;
  nn::reset_parameters(net, 1);
  const QuantModel model =
      calibrated(net, quant::default_qconfig(platforms::find_platform("onnxruntime")));
  EXPECT_THAT(outline(DeployModel(model)),
              ElementsAre("activation x of ''", "activation conv of 'conv'",
                          "weight conv.weight of 'conv'", "bias conv.bias of 'conv'"));
}

/// Names of inputs and outputs come from the model's file.
TEST(FindRanges, ValuesThatAreOutputsHaveTheOutputsNames) {
  onnx::ModelProto file;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(ir_version: 7 opset_import { version: 13 }
         graph { name: "g"
           node { name: "r" op_type: "Relu" input: "image" output: "features" }
           node { name: "s" op_type: "Sigmoid" input: "features" output: "scores" }
           input { name: "image" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } }
           output { name: "features" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } }
           output { name: "scores" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } } })",
      &file));
  const auto module = frontends::import_onnx(std::move(file));
  const QuantModel model = calibrated(*module, symmetric_config(), at::randn({2}));
  const DeployModel deployed(model);
  std::vector<std::string> tensors;
  for (const TensorRange& range : deployed.ranges()) tensors.push_back(range.tensor);
  EXPECT_THAT(tensors, ElementsAre("image", "features"));
}

class Tokens : public nn::Module {
 public:
  Tokens() : Module("Tokens", "x") {
    add_module("fc", nn::Linear(6, 4));
    add_module("drop", nn::Dropout());
    add_module("last", nn::Linear(4, 3, {{"bias", false}}));
  }
  nn::Value forward(const nn::Args& in) override {
    return call("last", call("drop", call("fc", in["x"])));
  }
};

/// MatMul layers store the weight transposed.
TEST(FindRanges, WeightsOfProductsAreFoundUnderTheirTransposedNames) {
  Tokens net;
  nn::reset_parameters(net, 1);
  for (const char* scheme : {"per-channel-symmetric", "per-tensor-symmetric"}) {
    const QuantModel model =
        calibrated(net, config_of(scheme, "per-tensor-symmetric"), at::randn({2, 5, 6}));
    const DeployModel deployed(model);
    EXPECT_THAT(outline(deployed),
                ElementsAre("activation x of ''", "activation fc of 'fc'",
                            "weight fc.weight_t of 'fc/MatMul'", "weight last.weight_t of 'last'"));
    EXPECT_EQ(range_of(deployed, "fc.weight_t").channel_axis, 1);
    EXPECT_TRUE(OnnxLinks(deployed.clean().graph()).constant("fc.weight_t"));
  }
}

}  // namespace
}  // namespace sparsebit::deploy::test::find_ranges_test
