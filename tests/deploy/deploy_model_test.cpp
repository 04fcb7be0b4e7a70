#include "sparsebit/deploy/deploy_model.h"

#include "deploy/deploy_case.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/printer.h"
#include "sparsebit/io/onnx_tensor.h"
#include "sparsebit/nn/layers.h"
#include "sparsebit/quant/quantizers/adaround.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::deploy::test::deploy_model_test {
namespace {

using quant::QuantModel;
using testing::ThrowsMessage;

at::Tensor constant(const DeployModel& model, const std::string& name) {
  for (onnx::TensorProto tensor : model.clean().graph().initializer()) {
    io::ExternalData none;
    if (tensor.name() == name) return io::take_tensor(tensor, none);
  }
  return {};
}

TEST(DeployModel, WeightsAreClippedOnTheirAxisAndNotRounded) {
  for (const char* scheme : {"per-channel-symmetric", "per-tensor-symmetric", "per-tensor-affine",
                             "per-channel-affine"}) {
    SCOPED_TRACE(scheme);
    QuantModel model = calibrated_net(config_of(scheme, "per-tensor-affine"));
    for (const quant::QuantPoint& point : model.points()) {
      if (!point.is_weight()) continue;
      const quant::QParams found = point.quantizer->qparams();
      point.quantizer->set_qparams({found.scale * 0.5, found.zero_point});
    }
    const DeployModel deployed(model);
    for (const auto& [name, axis] :
         {std::pair{"stem.weight", 0}, {"up.weight", 1}, {"dw.weight", 0}, {"fc.weight", 0}}) {
      SCOPED_TRACE(name);
      const TensorRange& range = range_of(deployed, name);
      EXPECT_EQ(range.kind, TensorKind::Weight);
      EXPECT_EQ(range.channel_axis, axis);
      const at::Tensor before = *model.module().find_tensor(name);
      std::vector<int64_t> shape(static_cast<size_t>(before.dim()), 1);
      if (range.is_per_channel()) shape[static_cast<size_t>(axis)] = before.size(axis);
      const auto bound = [&](int64_t q) {
        return ((static_cast<double>(q) - range.zero_point) * range.scale).reshape(shape);
      };
      const at::Tensor expected =
          at::minimum(at::maximum(before, bound(range.qmin)), bound(range.qmax));
      const at::Tensor found = constant(deployed, name);
      EXPECT_TRUE(at::equal(found, expected));
      EXPECT_FALSE(at::equal(found, before));
      const at::Tensor steps = found / range.scale.reshape(shape);
      EXPECT_FALSE(at::equal(steps, at::round(steps)));
    }
  }
}

/// A tool rounds float weights to the nearest integer, which must preserve learned rounding.
TEST(DeployModel, WeightsAreRoundedByToolsAsAdaroundDid) {
  const at::NoGradGuard no_gradients;
  quant::QConfig config = symmetric_config();
  config.weight.quantizer.type = "adaround";
  QuantModel learned = calibrated_net(config);
  for (const quant::QuantPoint& point : learned.points()) {
    if (!point.is_weight()) continue;
    auto& adaround = dynamic_cast<quant::Adaround&>(*point.quantizer);
    const at::Tensor weight = *learned.module().find_tensor(point.value);
    adaround.start(weight);
    adaround.set_tensor("v", at::ones_like(weight));  // every weight up
  }
  learned.module().eval();
  const DeployModel deployed(learned);
  for (const quant::QuantPoint& point : learned.points()) {
    if (!point.is_weight()) continue;
    const at::Tensor weight = *learned.module().find_tensor(point.value);
    const at::Tensor scale =
        quant::spread_over(point.quantizer->qparams().scale, weight, point.quantizer->spec());
    const at::Tensor rounded = at::round(constant(deployed, point.value) / scale).to(at::kInt);
    EXPECT_TRUE(at::equal(rounded, point.quantizer->integers(weight))) << point.value;
  }
}

TEST(DeployModel, TheModelStaysAsItIs) {
  QuantModel model = calibrated_net(affine_config());
  const std::string before = fx::to_text(model.module().graph());
  const at::Tensor weight = model.module().find_tensor("stem.weight")->clone();
  const DeployModel deployed(model);
  deployed.ranges();
  EXPECT_EQ(fx::to_text(model.module().graph()), before);
  EXPECT_TRUE(at::equal(*model.module().find_tensor("stem.weight"), weight));
}

TEST(DeployModel, IsCalibrated) {
  Net net;
  const QuantModel model(net, symmetric_config(), {samples()});
  EXPECT_THAT([&] { DeployModel deployed(model); },
              ThrowsMessage<Error>("not calibrated, so it cannot be exported, at "
                                   "'x_quantizer', the quantizer of 'x'"));
}

}  // namespace
}  // namespace sparsebit::deploy::test::deploy_model_test
