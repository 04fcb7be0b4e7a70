#include "frontends/onnx/model_builder.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

namespace sparsebit::test::convolution_test {
namespace {

using at::Tensor;
using Calls = std::vector<std::string>;
using Ints = std::vector<int64_t>;
using Attributes = std::vector<Attribute>;

ModelBuilder with_weight(const char* type, const Ints& shape, const Tensor& weight,
                         const Attributes& attributes) {
  return ModelBuilder(13)
      .input("x", shape)
      .constant("w", weight)
      .node(type, {"x", "w"}, {"y"}, attributes)
      .output("y");
}

/// SAME padding that the graph computes from dynamic sizes equals the padding for fixed sizes.
TEST(OnnxConvolution, SamePaddingOfSizesThatAreNotFixed) {
  const struct {
    int64_t kernel, stride, dilation;
  } cases[] = {{3, 1, 1}, {2, 1, 1}, {3, 2, 1}, {2, 2, 1}, {3, 2, 2}, {1, 2, 1}, {2, 4, 1}};
  for (const auto& c : cases) {
    const Tensor weight = at::randn({2, 1, c.kernel, 3});
    for (const char* mode : {"SAME_UPPER", "SAME_LOWER"}) {
      const Attributes attributes = {
          {"auto_pad", mode}, {"strides", Ints{c.stride, 2}}, {"dilations", Ints{c.dilation, 1}}};
      const auto open = with_weight("Conv", {-1, 1, -1, -1}, weight, attributes).import();
      EXPECT_THAT(calls(*open), testing::Contains("torch.nn.Conv2d"));
      for (int64_t size = 5; size <= 8; ++size) {
        const Tensor x = at::randn({2, 1, size, size + 1});
        const auto fixed = with_weight("Conv", x.sizes().vec(), weight, attributes).import();
        const Tensor expected = run(*fixed, {x})[0], y = run(*open, {x})[0];
        ASSERT_EQ(y.sizes(), expected.sizes()) << mode << ", " << size;
        EXPECT_TRUE(y.equal(expected)) << mode << ", kernel " << c.kernel << ", size " << size;
      }
    }
  }
}

TEST(OnnxConvolution, SamePaddingThatNoSizeChanges) {
  const Attributes same = {{"auto_pad", "SAME_UPPER"}};
  const auto module = with_weight("Conv", {1, 1, -1}, at::ones({1, 1, 3}), same).import();
  EXPECT_EQ(calls(*module), Calls{"torch.nn.Conv1d"});
}

TEST(OnnxConvolution, SamePaddingOfATransposedOne) {
  const Tensor weight = at::randn({1, 2, 3, 4}), x = at::randn({1, 1, 5, 6});
  for (const char* mode : {"SAME_UPPER", "SAME_LOWER"}) {
    const Attributes attributes = {{"auto_pad", mode}, {"strides", Ints{2, 3}}};
    const auto open = with_weight("ConvTranspose", {1, 1, -1, -1}, weight, attributes).import();
    const auto fixed = with_weight("ConvTranspose", {1, 1, 5, 6}, weight, attributes).import();
    EXPECT_EQ(run(*open, {x})[0].sizes(), at::IntArrayRef({1, 2, 10, 18}));
    EXPECT_TRUE(run(*open, {x})[0].equal(run(*fixed, {x})[0]));
  }
}

/// The result of Shape for a convolution whose weight is an input.
std::vector<Tensor> shape_and_result(const char* type, const Tensor& x, const Tensor& weight,
                                     const Attributes& attributes) {
  const auto module = ModelBuilder(13)
                          .input("x", x.sizes().vec())
                          .input("w", {1, 1, -1, -1})
                          .node(type, {"x", "w"}, {"y"}, attributes)
                          .node("Shape", {"y"}, {"s"})
                          .output("s")
                          .output("y")
                          .import();
  return run(*module, {x, weight});
}

TEST(OnnxConvolution, KernelsWhoseSizeIsStatedByAnAttribute) {
  const Tensor x = at::randn({1, 1, 8, 8}), weight = at::randn({1, 1, 3, 5});
  for (const char* type : {"Conv", "ConvTranspose"}) {
    const auto results = shape_and_result(type, x, weight, {{"kernel_shape", Ints{3, 5}}});
    EXPECT_TRUE(results[0].equal(at::tensor(results[1].sizes(), at::kLong))) << results[0];
  }
}

/// Padding and strides can turn four numbers into gigabytes: this must not happen during import.
TEST(OnnxConvolution, ConstantsAreNotGrown) {
  constexpr int64_t kMuch = 1000000000;
  const Tensor x = at::ones({1, 1, 4}, at::kLong), weight = at::ones({1, 1, 1}, at::kLong);
  const struct {
    const char* type;
    Attribute attribute;
    const char* target;
  } cases[] = {
      {"Conv", {"pads", Ints{kMuch, kMuch}}, "torch.nn.functional.conv1d"},
      {"ConvTranspose", {"strides", Ints{kMuch}}, "torch.nn.functional.conv_transpose1d"},
  };
  for (const auto& c : cases) {
    const auto module = ModelBuilder(13)
                            .constant("x", x)
                            .constant("w", weight)
                            .node(c.type, {"x", "w"}, {"y"}, {c.attribute})
                            .output("y")
                            .import();
    EXPECT_EQ(calls(*module), Calls{c.target});
  }
}

}  // namespace
}  // namespace sparsebit::test::convolution_test
