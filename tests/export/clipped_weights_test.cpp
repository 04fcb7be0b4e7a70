#include "sparsebit/export/clipped_weights.h"

#include "sparsebit/core/yaml.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::exports::test::clipped_weights_test {
namespace {

class Net : public nn::Module {
 public:
  Net() : Module("Net", "x") {
    add_module("conv", nn::Conv2d(4, 6, 3));
    add_module("up", nn::ConvTranspose2d(6, 4, 2));
  }
  nn::Value forward(const nn::Args& in) override { return call("up", call("conv", in["x"])); }
};

quant::QuantModel calibrated(const std::string& weights) {
  Net net;
  nn::reset_parameters(net, 1);
  const at::Tensor x = at::randn({1, 4, 6, 6}, at::detail::createCPUGenerator(1));
  quant::QuantModel model(
      net,
      quant::parse_qconfig(parse_yaml(
          "W: " + weights + "\nA: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}}", "test.yaml")),
      {x});
  model.prepare_calibration();
  model.forward({x});
  model.calc_qparams();
  return model;
}

/// Rounding the clipped weights to the nearest integer gives the integers of the simulation.
TEST(ClippedWeights, AreRoundedToTheSameIntegers) {
  const at::NoGradGuard no_gradients;
  for (const char* weights :
       {"{QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 4}, OBSERVER: {TYPE: mse}}",
        "{QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 3}, OBSERVER: {TYPE: mse}}",
        "{QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 4, TYPE: dorefa}}",
        "{QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 4, TYPE: gptq}}",
        "{QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 4, GROUP_SIZE: 2}, "
        "SPECIFIC: [{\"up\": [\"QUANTIZER.GROUP_SIZE\", 0]}]}"}) {
    SCOPED_TRACE(weights);
    const quant::QuantModel model = calibrated(weights);
    const auto copy = with_clipped_weights(model);
    for (const quant::QuantPoint& point : model.points()) {
      if (!point.is_weight()) continue;
      const at::Tensor clipped = *copy->find_tensor(point.value);
      const at::Tensor original = *model.module().find_tensor(point.value);
      const quant::QParams found = point.quantizer->final_qparams();
      const auto spread = [&](const at::Tensor& t) {
        return quant::spread_over(t, clipped, point.quantizer->spec());
      };
      const at::Tensor integers =
          at::round(clipped / spread(found.scale) + spread(found.zero_point)).to(at::kInt);
      EXPECT_TRUE(at::equal(integers, point.quantizer->integers(original))) << point.value;
      EXPECT_FALSE(at::equal(clipped, original)) << point.value;
    }
  }
}

TEST(ClippedWeights, BelongToACopy) {
  const quant::QuantModel model =
      calibrated("{QSCHEME: per-tensor-symmetric, QUANTIZER: {BIT: 2}, OBSERVER: {TYPE: mse}}");
  const at::Tensor before = model.module().find_tensor("up.weight")->clone();
  EXPECT_FALSE(at::equal(*with_clipped_weights(model)->find_tensor("up.weight"), before));
  EXPECT_TRUE(at::equal(*model.module().find_tensor("up.weight"), before));
}

}  // namespace
}  // namespace sparsebit::exports::test::clipped_weights_test
