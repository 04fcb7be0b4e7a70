#include "frontends/onnx/model_builder.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

namespace sparsebit::test::padding_test {
namespace {

using at::Tensor;
using Calls = std::vector<std::string>;
using Ints = std::vector<int64_t>;

Tensor ints(const Ints& values) { return at::tensor(values, at::kLong); }

TEST(OnnxPadding, EveryMode) {
  const Tensor x = at::tensor({1.0F, 2.0F, 3.0F});
  const struct {
    const char* mode;
    Ints pads;
    std::vector<float> expected;
  } cases[] = {
      {"constant", {1, 2}, {0, 1, 2, 3, 0, 0}},      {"constant", {-1, 1}, {2, 3, 0}},
      {"reflect", {2, 1}, {3, 2, 1, 2, 3, 2}},       {"reflect", {3, 0}, {2, 3, 2, 1, 2, 3}},
      {"edge", {1, 2}, {1, 1, 2, 3, 3, 3}},          {"edge", {-1, 1}, {2, 3, 3}},
      {"wrap", {2, 4}, {2, 3, 1, 2, 3, 1, 2, 3, 1}},
  };
  for (const auto& c : cases) {
    for (const bool computed : {false, true}) {
      ModelBuilder model(19);
      model.input("x", {3});
      if (computed) model.input("p", {2}, at::kLong);
      if (!computed) model.constant("p", ints(c.pads));
      const auto module =
          model.node("Pad", {"x", "p"}, {"y"}, {{"mode", c.mode}}).output("y").import();
      const auto given = computed ? std::vector{x, ints(c.pads)} : std::vector{x};
      EXPECT_TRUE(run(*module, given)[0].equal(at::tensor(c.expected))) << c.mode << computed;
    }
  }
}

TEST(OnnxPadding, OldAndNewForms) {
  const Tensor x = at::randn({1, 1, 3, 3});
  const auto old =
      ModelBuilder(10)
          .input("x", {1, 1, 3, 3})
          .node("Pad", {"x"}, {"y"}, {{"pads", Ints{0, 0, 1, 0, 0, 0, 0, 2}}, {"value", 5.0}})
          .output("y")
          .import();
  EXPECT_EQ(calls(*old), Calls{"torch.nn.functional.pad"});
  const Tensor expected = at::constant_pad_nd(x, {0, 2, 1, 0}, 5);
  EXPECT_TRUE(run(*old, {x})[0].equal(expected));
  const auto with_axes = ModelBuilder(18)
                             .input("x", {1, 1, 3, 3})
                             .constant("p", ints({0, 1, 2, 0}))
                             .constant("v", at::scalar_tensor(5.0F))
                             .constant("a", ints({-1, 2}))
                             .node("Pad", {"x", "p", "v", "a"}, {"y"})
                             .output("y")
                             .import();
  EXPECT_TRUE(run(*with_axes, {x})[0].equal(expected));
}

TEST(OnnxPadding, TorchsModesWhereItHasThem) {
  const Tensor x = at::randn({1, 2, 4, 4});
  const auto module = ModelBuilder(13)
                          .input("x", {1, 2, -1, -1})
                          .constant("p", ints({0, 0, 1, 2, 0, 0, 1, 0}))
                          .node("Pad", {"x", "p"}, {"y"}, {{"mode", "reflect"}})
                          .output("y")
                          .import();
  EXPECT_EQ(calls(*module), Calls{"torch.nn.functional.pad"});
  EXPECT_TRUE(run(*module, {x})[0].equal(at::reflection_pad2d(x, {2, 0, 1, 1})));
}

TEST(OnnxPadding, CenterCropPadOfOddAmounts) {
  const auto module = ModelBuilder(18)
                          .input("x", {5, 2})
                          .constant("s", ints({2, 5}))
                          .node("CenterCropPad", {"x", "s"}, {"y"})
                          .output("y")
                          .import();
  const Tensor x = at::randn({5, 2});
  EXPECT_TRUE(run(*module, {x})[0].equal(at::constant_pad_nd(x.slice(0, 1, 3), {1, 2}, 0)));
}

TEST(OnnxPadding, WhatIsWrong) {
  EXPECT_EQ(import_error(ModelBuilder(13)
                             .input("x", {2, 3})
                             .constant("p", ints({1, 1}))
                             .node("Pad", {"x", "p"}, {"y"})
                             .output("y")),
            "model: node 'y' (Pad): pads has 2 entries for 2 axes");
}

}  // namespace
}  // namespace sparsebit::test::padding_test
