#include "frontends/onnx/model_builder.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

namespace sparsebit::test::pooling_test {
namespace {

using at::Tensor;
using Calls = std::vector<std::string>;
using Ints = std::vector<int64_t>;
using Attributes = std::vector<Attribute>;

std::unique_ptr<fx::GraphModule> pool(const char* type, const Ints& shape,
                                      const Attributes& attributes,
                                      at::ScalarType dtype = at::kFloat, int64_t opset = 19) {
  return ModelBuilder(opset)
      .input("x", shape, dtype)
      .node(type, {"x"}, {"y"}, attributes)
      .output("y")
      .import();
}

/// A window of 3 with stride 2 gives the same result whether torch or the operator pads.
TEST(OnnxPooling, TorchsFunctionsAndOursAgree) {
  const Tensor x = at::randn({2, 3, 9, 8});
  const struct {
    const char* type;
    Attributes extra;
    const char* target;
    Tensor expected;
  } cases[] = {
      {"MaxPool", {}, "torch.nn.functional.max_pool2d", at::max_pool2d(x, 3, 2, 1)},
      {"AveragePool",
       {},
       "torch.nn.functional.avg_pool2d",
       at::avg_pool2d(x, 3, 2, 1, false, false)},
      {"AveragePool",
       {{"count_include_pad", int64_t{1}}},
       "torch.nn.functional.avg_pool2d",
       at::avg_pool2d(x, 3, 2, 1, false, true)},
      {"MaxPool",
       {{"ceil_mode", int64_t{1}}},
       "torch.nn.functional.max_pool2d",
       at::max_pool2d(x, 3, 2, 1, 1, true)},
      {"AveragePool",
       {{"ceil_mode", int64_t{1}}, {"count_include_pad", int64_t{1}}},
       "torch.nn.functional.avg_pool2d",
       at::avg_pool2d(x, 3, 2, 1, true, true)},
  };
  for (const auto& c : cases) {
    Attributes attributes = {
        {"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}};
    attributes.insert(attributes.end(), c.extra.begin(), c.extra.end());
    const auto module = pool(c.type, {2, 3, 9, 8}, attributes);
    EXPECT_EQ(calls(*module), Calls{c.target});
    EXPECT_TRUE(run(*module, {x})[0].allclose(c.expected));
    // libtorch does not pool half precision on the CPU
    const auto half = pool(c.type, {2, 3, 9, 8}, attributes, at::kHalf);
    EXPECT_THAT(calls(*half), testing::Contains(std::string("onnx.") + c.type));
    EXPECT_TRUE(run(*half, {x.to(at::kHalf)})[0].to(at::kFloat).allclose(c.expected, 1e-2, 1e-2));
  }
}

TEST(OnnxPooling, PaddingThatDiffers) {
  const Tensor x = at::randn({1, 2, 6, 6});
  const Attributes attributes = {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{1, 0, 0, 1}}};
  const auto largest = pool("MaxPool", {1, 2, 6, 6}, attributes);
  EXPECT_EQ(calls(*largest), (Calls{"torch.nn.functional.pad", "torch.nn.functional.max_pool2d"}));
  const auto mean = pool("AveragePool", {1, 2, 6, 6}, attributes);
  EXPECT_EQ(calls(*mean), Calls{"onnx.AveragePool"});
  const Tensor y = run(*mean, {x})[0];
  EXPECT_TRUE(y[0][0][0][0].allclose(x[0][0][0].slice(0, 0, 2).mean()));
  EXPECT_TRUE(y[0][0][3][5].allclose(x[0][0].slice(0, 2, 4).select(1, 5).mean()));
}

TEST(OnnxPooling, SamePaddingOfSizesThatAreNotFixed) {
  const Tensor x = at::randn({1, 2, 5, 7});
  const Attributes attributes = {
      {"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"auto_pad", "SAME_UPPER"}};
  const auto fixed = pool("MaxPool", {1, 2, 5, 7}, attributes);
  const auto open = pool("MaxPool", {1, 2, -1, -1}, attributes);
  EXPECT_THAT(calls(*open), testing::Contains("onnx.MaxPool"));
  EXPECT_TRUE(run(*open, {x})[0].equal(run(*fixed, {x})[0]));
  EXPECT_EQ(run(*open, {x})[0].sizes(), at::IntArrayRef({1, 2, 3, 4}));
}

TEST(OnnxPooling, DilationsOfAMean) {
  const Tensor x = at::randn({1, 1, 7});
  const auto module =
      pool("AveragePool", {1, 1, 7}, {{"kernel_shape", Ints{3}}, {"dilations", Ints{2}}});
  const Tensor expected = at::stack({x.slice(2, 0, 5, 2), x.slice(2, 1, 6, 2), x.slice(2, 2, 7, 2)})
                              .mean(-1)
                              .view({1, 1, 3});
  EXPECT_TRUE(run(*module, {x})[0].allclose(expected));
}

/// Indices refer to the whole tensor, including batch and channels.
TEST(OnnxPooling, IndicesUndoneByMaxUnpool) {
  const auto module = ModelBuilder(12)
                          .input("x", {2, 3, 4, 4})
                          .node("MaxPool", {"x"}, {"y", "i"},
                                {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}})
                          .node("MaxUnpool", {"y", "i"}, {"z"},
                                {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}})
                          .output("z")
                          .output("i")
                          .import();
  const Tensor x = at::rand({2, 3, 4, 4}).add(0.1);
  const auto results = run(*module, {x});
  EXPECT_TRUE(at::max_pool2d(results[0], 2).equal(at::max_pool2d(x, 2)));
  EXPECT_EQ(results[0].count_nonzero().item<int64_t>(), 24);
  EXPECT_GE(results[1][1][2].min().item<int64_t>(), 5 * 16);
}

TEST(OnnxPooling, LpPoolOfNegativeNumbers) {
  const auto module = pool("LpPool", {1, 1, 4},
                           {{"kernel_shape", Ints{2}}, {"p", int64_t{3}}, {"strides", Ints{2}}});
  const Tensor y = run(*module, {at::tensor({-1.0F, 2.0F, 0.0F, -3.0F}).view({1, 1, 4})})[0];
  EXPECT_TRUE(y.flatten().allclose(at::tensor({std::cbrt(9.0F), 3.0F})));
}

TEST(OnnxPooling, MaxRoiPoolOfARegion) {
  const auto module = ModelBuilder(13)
                          .input("x", {1, 1, 4, 4})
                          .input("rois", {1, 5})
                          .node("MaxRoiPool", {"x", "rois"}, {"y"}, {{"pooled_shape", Ints{1, 2}}})
                          .output("y")
                          .import();
  const Tensor x = at::arange(16, at::kFloat).view({1, 1, 4, 4});
  const Tensor y = run(*module, {x, at::tensor({0.0F, 0.0F, 1.0F, 3.0F, 2.0F}).view({1, 5})})[0];
  EXPECT_TRUE(y.equal(at::tensor({9.0F, 11.0F}).view({1, 1, 1, 2})));
}

/// Padding can turn four numbers into gigabytes: this must not happen during import.
TEST(OnnxPooling, ConstantsAreNotGrown) {
  constexpr int64_t kMuch = 1000000000;
  const struct {
    const char* type;
    at::ScalarType dtype;
    const char* target;
  } cases[] = {{"MaxPool", at::kChar, "onnx.MaxPool"},
               {"AveragePool", at::kFloat, "onnx.AveragePool"},
               {"LpPool", at::kFloat, "onnx.LpPool"}};
  for (const auto& c : cases) {
    const auto module =
        ModelBuilder(13)
            .constant("x", at::ones({1, 1, 4}, c.dtype))
            .node(c.type, {"x"}, {"y"}, {{"kernel_shape", Ints{1}}, {"pads", Ints{kMuch, kMuch}}})
            .output("y")
            .import();
    EXPECT_THAT(calls(*module), testing::Contains(c.target));
  }
}

TEST(OnnxPooling, WhatIsWrong) {
  const auto error = [](const Attributes& attributes) {
    return import_error(ModelBuilder(13)
                            .input("x", {1, 1, 4, 4})
                            .node("MaxPool", {"x"}, {"y"}, attributes)
                            .output("y"));
  };
  EXPECT_EQ(error({}), "model: node 'y' (MaxPool): kernel_shape is missing");
  EXPECT_EQ(error({{"kernel_shape", Ints{2}}}),
            "model: node 'y' (MaxPool): kernel_shape has 1 entries for an input with 4 axes");
  EXPECT_EQ(error({{"kernel_shape", Ints{2, 0}}}),
            "model: node 'y' (MaxPool): kernel_shape contains 0");
}

}  // namespace
}  // namespace sparsebit::test::pooling_test
