#include "frontends/onnx/model_builder.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

namespace sparsebit::test::norm_test {
namespace {

using at::Tensor;
using Calls = std::vector<std::string>;

std::unique_ptr<fx::GraphModule> instance_norm(const std::vector<int64_t>& shape,
                                               const Tensor& scale, const Tensor& bias) {
  return ModelBuilder(13)
      .input("x", shape)
      .constant("s", scale)
      .constant("b", bias)
      .node("InstanceNormalization", {"x", "s", "b"}, {"y"})
      .output("y")
      .import();
}

TEST(OnnxNorm, InstanceNormIsALayer) {
  const Tensor x = at::randn({2, 3, 4, 5}), scale = at::randn({3}), bias = at::randn({3});
  const auto module = instance_norm({2, 3, 4, 5}, scale, bias);
  EXPECT_EQ(calls(*module), Calls{"torch.nn.InstanceNorm2d"});
  const Tensor mean = x.mean(at::IntArrayRef{2, 3}, true);
  const Tensor var = (x - mean).square().mean(at::IntArrayRef{2, 3}, true);
  const Tensor expected =
      (x - mean) / (var + 1e-5).sqrt() * scale.view({3, 1, 1}) + bias.view({3, 1, 1});
  EXPECT_TRUE(run(*module, {x})[0].allclose(expected, 1e-4, 1e-5));
}

/// The mean of one element is that element, so that only the bias is left.
TEST(OnnxNorm, InstanceNormOfSingleElements) {
  const Tensor scale = at::tensor({1.0F, 2.0F}), bias = at::tensor({3.0F, 4.0F});
  for (const auto& shape : std::vector<std::vector<int64_t>>{{1, 2, 1, 1}, {3, 2, 1}}) {
    std::vector<int64_t> per_channel(shape.size() - 1, 1);
    per_channel[0] = 2;
    for (const int64_t batch : {shape[0], int64_t{-1}}) {
      std::vector<int64_t> stated = shape;
      stated[0] = batch;
      const auto module = instance_norm(stated, scale, bias);
      const Tensor y = run(*module, {at::randn(shape)})[0];
      EXPECT_TRUE(y.equal(bias.view(per_channel).expand(shape))) << y;
    }
  }
}

}  // namespace
}  // namespace sparsebit::test::norm_test
