#include "frontends/onnx/model_builder.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

namespace sparsebit::test::resize_test {
namespace {

using at::Tensor;
using Calls = std::vector<std::string>;
using Ints = std::vector<int64_t>;
using Attributes = std::vector<Attribute>;

Tensor ints(const Ints& values) { return at::tensor(values, at::kLong); }

ModelBuilder by_scales(const Ints& shape, const std::vector<float>& scales,
                       const Attributes& attributes) {
  return ModelBuilder(13)
      .input("x", shape)
      .constant("s", at::tensor(scales))
      .node("Resize", {"x", "", "s"}, {"y"}, attributes)
      .output("y");
}

ModelBuilder by_sizes(const Ints& shape, const Ints& sizes, const Attributes& attributes) {
  return ModelBuilder(13)
      .input("x", shape)
      .constant("s", ints(sizes))
      .node("Resize", {"x", "", "", "s"}, {"y"}, attributes)
      .output("y");
}

/// The general kernel and libtorch give the same result, so either may be chosen.
TEST(OnnxResize, TorchAndOurKernelAgree) {
  const Tensor x = at::randn({1, 2, 5, 6});
  for (const char* mode : {"linear", "cubic"}) {
    for (const char* placed : {"half_pixel", "pytorch_half_pixel", "align_corners"}) {
      const Attributes attributes = {{"mode", mode}, {"coordinate_transformation_mode", placed}};
      const auto by_torch = by_sizes({1, 2, 5, 6}, {1, 2, 7, 3}, attributes).import();
      EXPECT_EQ(calls(*by_torch), Calls{"torch.nn.functional.interpolate"});
      const auto ours = ModelBuilder(13)
                            .input("x", {1, 2, 5, 6})
                            .input("s", {4}, at::kLong)
                            .node("Resize", {"x", "", "", "s"}, {"y"}, attributes)
                            .output("y")
                            .import();
      EXPECT_EQ(calls(*ours), Calls{"onnx.Resize"});
      const Tensor found = run(*ours, {x, ints({1, 2, 7, 3})})[0];
      EXPECT_TRUE(found.allclose(run(*by_torch, {x})[0], 1e-4, 1e-5)) << mode << " " << placed;
    }
  }
}

TEST(OnnxResize, NearestByWholeFactors) {
  const Tensor x = at::randn({1, 2, 3, 3});
  const struct {
    const char *placed, *rounding;
    float factor;
    bool by_torch;
  } cases[] = {{"asymmetric", "floor", 2, true},
               {"half_pixel", "round_prefer_floor", 3, true},
               {"asymmetric", "round_prefer_floor", 2, true},
               {"asymmetric", "round_prefer_floor", 3, false},
               {"half_pixel", "floor", 2, false},
               {"asymmetric", "floor", 1.5, false}};
  for (const auto& c : cases) {
    const auto module =
        by_scales({1, 2, -1, -1}, {1, 1, c.factor, c.factor},
                  {{"coordinate_transformation_mode", c.placed}, {"nearest_mode", c.rounding}})
            .import();
    EXPECT_EQ(calls(*module),
              Calls{c.by_torch ? "torch.nn.functional.interpolate" : "onnx.Resize"});
    if (!c.by_torch) continue;
    const auto n = static_cast<int64_t>(c.factor);
    const Tensor expected = x.repeat_interleave(n, 2).repeat_interleave(n, 3);
    EXPECT_TRUE(run(*module, {x})[0].equal(expected)) << c.placed << c.factor;
  }
}

/// Sizes computed from the input's own, as torch writes them.
TEST(OnnxResize, SizesThatAreNotFixed) {
  const auto module = ModelBuilder(13)
                          .input("x", {-1, 2, -1, -1})
                          .constant("zero", ints({0}))
                          .constant("two", ints({2}))
                          .constant("to", ints({8, 9}))
                          .node("Shape", {"x"}, {"shape"})
                          .node("Slice", {"shape", "zero", "two", "zero"}, {"kept"})
                          .node("Concat", {"kept", "to"}, {"sizes"}, {{"axis", int64_t{0}}})
                          .node("Resize", {"x", "", "", "sizes"}, {"y"}, {{"mode", "linear"}})
                          .output("y")
                          .import();
  EXPECT_EQ(calls(*module).back(), "torch.nn.functional.interpolate");
  const Tensor x = at::randn({3, 2, 4, 4});
  EXPECT_TRUE(run(*module, {x})[0].allclose(at::upsample_bilinear2d(x, {8, 9}, false)));
}

TEST(OnnxResize, BeforeOperatorSet11) {
  const Tensor x = at::tensor({1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F, 7.0F, 8.0F}).view({1, 1, 2, 4});
  const auto upsample =
      ModelBuilder(7)
          .input("x", {1, 1, 2, 4})
          .node("Upsample", {"x"}, {"y"}, {{"scales", std::vector{1.0, 1.0, 2.0, 3.0}}})
          .output("y")
          .import();
  EXPECT_EQ(calls(*upsample), Calls{"torch.nn.functional.interpolate"});
  EXPECT_TRUE(run(*upsample, {x})[0].equal(x.repeat_interleave(2, 2).repeat_interleave(3, 3)));
  const auto smaller = ModelBuilder(10)
                           .input("x", {1, 1, 2, 4})
                           .constant("s", at::tensor({1.0F, 1.0F, 0.6F, 0.6F}))
                           .node("Resize", {"x", "s"}, {"y"})
                           .output("y")
                           .import();
  EXPECT_TRUE(run(*smaller, {x})[0].equal(at::tensor({1.0F, 3.0F}).view({1, 1, 1, 2})));
}

TEST(OnnxResize, WhatCameWithOperatorSet18) {
  const Tensor x = at::arange(16, at::kFloat).view({1, 1, 4, 4});
  const auto resized = [&](const Ints& sizes, Attributes attributes) {
    attributes.push_back({"axes", Ints{2, 3}});
    const auto module = ModelBuilder(18)
                            .input("x", {1, 1, 4, 4})
                            .constant("s", ints(sizes))
                            .node("Resize", {"x", "", "", "s"}, {"y"}, attributes)
                            .output("y")
                            .import();
    return run(*module, {x})[0];
  };
  EXPECT_EQ(resized({7, 8}, {{"keep_aspect_ratio_policy", "not_larger"}}).sizes(),
            at::IntArrayRef({1, 1, 7, 7}));
  EXPECT_EQ(resized({7, 8}, {{"keep_aspect_ratio_policy", "not_smaller"}}).sizes(),
            at::IntArrayRef({1, 1, 8, 8}));
  const Tensor mean = resized(
      {1, 1}, {{"mode", "linear"}, {"antialias", int64_t{1}}, {"exclude_outside", int64_t{1}}});
  EXPECT_NEAR(mean.item<float>(), 7.5, 1e-5);
  EXPECT_TRUE(
      resized({8, 8}, {{"mode", "linear"}}).allclose(at::upsample_bilinear2d(x, {8, 8}, false)));
}

/// The result's size is computed in float32, where 10 times 0.7 is 7; in float64 it is less.
TEST(OnnxResize, ShapesThatAreReadOffAreThoseOfTheResult) {
  const auto module =
      by_scales({10}, {0.7F}, {}).node("Shape", {"y"}, {"shape"}).output("shape").import();
  const auto results = run(*module, {at::randn({10})});
  EXPECT_EQ(results[0].sizes(), at::IntArrayRef({7}));
  EXPECT_TRUE(results[1].equal(ints({7}))) << results[1];
}

TEST(OnnxResize, WhatIsWrong) {
  EXPECT_EQ(import_error(by_scales({1, 1, 4, 4}, {2, 2}, {})),
            "model: node 'y' (Resize): scales or sizes have 2 entries for an input with 4 axes");
}

}  // namespace
}  // namespace sparsebit::test::resize_test
