#include "frontends/onnx/model_builder.h"
#include "sparsebit/frontends/onnx.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <numeric>

namespace sparsebit::test::shape_test {
namespace {

using at::Tensor;
using Calls = std::vector<std::string>;
using Ints = std::vector<int64_t>;
using Names = std::vector<std::string>;

Tensor ints(const Ints& values) { return at::tensor(values, at::kLong); }

/// The result of one operator with an input x of this shape; `extra` is a constant or, when
/// `computed`, an input of the model.
Tensor run_one(ModelBuilder model, const std::string& type, const Tensor& x, const Tensor& extra,
               bool computed) {
  model.input("x", x.sizes().vec());
  if (computed) {
    model.input("extra", extra.sizes().vec(), extra.scalar_type());
  } else {
    model.constant("extra", extra);
  }
  const auto module = model.node(type, {"x", "extra"}, {"y"}).output("y").import();
  return run(*module, computed ? std::vector{x, extra} : std::vector{x})[0];
}

TEST(OnnxShape, SizesAreConstantsOrComputed) {
  const struct {
    const char* type;
    Ints shape, extra, expected;
  } cases[] = {
      {"Reshape", {2, 3, 4}, {0, -1}, {2, 12}},
      {"Reshape", {2, 3, 4}, {4, 0, -1}, {4, 3, 2}},
      {"Expand", {3, 1}, {2, 1, 4}, {2, 3, 4}},
      {"Expand", {3, 4}, {1}, {3, 4}},
      {"Tile", {2, 3}, {2, 1}, {4, 3}},
      {"Squeeze", {1, 3, 1, 4}, {-2, 0}, {3, 4}},
      {"Unsqueeze", {3, 4}, {-1, 0}, {1, 3, 4, 1}},
  };
  for (const auto& c : cases) {
    const Tensor x = at::randn(c.shape);
    for (const bool computed : {false, true}) {
      const Tensor y = run_one(ModelBuilder(13), c.type, x, ints(c.extra), computed);
      EXPECT_EQ(y.sizes(), at::IntArrayRef(c.expected)) << c.type << computed;
    }
  }
}

TEST(OnnxShape, AxesWereAttributesBeforeOperatorSet13) {
  const auto module = ModelBuilder(11)
                          .input("x", {1, 3, 1})
                          .node("Squeeze", {"x"}, {"a"}, {{"axes", Ints{0, 2}}})
                          .node("Unsqueeze", {"a"}, {"y"}, {{"axes", Ints{2, 0}}})
                          .output("y")
                          .import();
  EXPECT_EQ(calls(*module),
            (Calls{"torch.squeeze", "torch.squeeze", "torch.unsqueeze", "torch.unsqueeze"}));
  EXPECT_EQ(run(*module, {at::ones({1, 3, 1})})[0].sizes(), at::IntArrayRef({1, 3, 1}));
}

/// x.reshape(x.size(0), -1) as torch exports it.
TEST(OnnxShape, SizesOfTheInputStayInts) {
  const auto module = ModelBuilder(13)
                          .input("x", {-1, 3, 4})
                          .constant("zero", at::scalar_tensor(0, at::kLong))
                          .constant("axis", ints({0}))
                          .constant("rest", ints({-1}))
                          .node("Shape", {"x"}, {"shape"})
                          .node("Gather", {"shape", "zero"}, {"n"})
                          .node("Unsqueeze", {"n", "axis"}, {"ns"})
                          .node("Concat", {"ns", "rest"}, {"to"}, {{"axis", int64_t{0}}})
                          .node("Reshape", {"x", "to"}, {"y"})
                          .output("y")
                          .import();
  EXPECT_EQ(calls(*module), (Calls{"Tensor.size", "torch.reshape"}));
  EXPECT_EQ(run(*module, {at::ones({5, 3, 4})})[0].sizes(), at::IntArrayRef({5, 12}));
}

/// The rank of a reshaped tensor is known even if its sizes are not.
TEST(OnnxShape, ReshapedTensorsHaveARank) {
  const auto module = ModelBuilder(13)
                          .input("x", {-1, 6})
                          .constant("i", ints({0}))
                          .constant("rest", ints({2, 3}))
                          .node("Shape", {"x"}, {"shape"})
                          .node("Gather", {"shape", "i"}, {"n"})
                          .node("Concat", {"n", "rest"}, {"to"}, {{"axis", int64_t{0}}})
                          .node("Reshape", {"x", "to"}, {"a"})
                          .node("Transpose", {"a"}, {"b"})
                          .node("Shape", {"b"}, {"sizes"})
                          .node("Reshape", {"x", "sizes"}, {"y"})
                          .output("y")
                          .import();
  EXPECT_EQ(run(*module, {at::ones({4, 6})})[0].sizes(), at::IntArrayRef({3, 2, 4}));
  EXPECT_THAT(calls(*module), testing::Not(testing::Contains("onnx.Shape")));
}

TEST(OnnxShape, FlattenOfEveryAxis) {
  const Tensor x = at::randn({2, 3, 4, 5});
  const Ints rows = {1, 2, 6, 24, 120};
  for (int64_t axis = 0; axis <= 4; ++axis) {
    const auto module = ModelBuilder(13)
                            .input("x", {2, 3, 4, 5})
                            .node("Flatten", {"x"}, {"y"}, {{"axis", axis}})
                            .output("y")
                            .import();
    EXPECT_TRUE(run(*module, {x})[0].equal(x.reshape({rows[static_cast<size_t>(axis)], -1})));
  }
}

TEST(OnnxShape, FlattenOfAnUnknownRank) {
  const Tensor x = at::randn({2, 3, 4, 5});
  for (const int64_t axis : {2, -1, 4}) {
    const auto module = ModelBuilder(13)
                            .input("x", {2, 3, 4, 5})
                            .input("shape", {-1}, at::kLong)
                            .node("Reshape", {"x", "shape"}, {"a"})
                            .node("Flatten", {"a"}, {"y"}, {{"axis", axis}})
                            .output("y")
                            .import();
    EXPECT_THAT(calls(*module), testing::Contains("onnx.Flatten"));
    const int64_t rows = axis == 2 ? 6 : axis == 4 ? 120 : 24;
    const Tensor sizes = at::tensor({2, 3, 4, 5}, at::kLong);
    EXPECT_TRUE(run(*module, {x, sizes})[0].equal(x.reshape({rows, 120 / rows})));
  }
}

TEST(OnnxShape, ExpandOfAnUnknownSize) {
  const auto module = ModelBuilder(13)
                          .input("x", {-1, 3})
                          .input("like", {-1, 3})
                          .node("Shape", {"like"}, {"shape"})
                          .node("Expand", {"x", "shape"}, {"y"})
                          .output("y")
                          .import();
  EXPECT_THAT(calls(*module), testing::Contains("onnx.Expand"));
  for (const auto& [from, to] : {std::pair{1, 4}, {4, 1}, {4, 4}}) {
    const Tensor y = run(*module, {at::ones({from, 3}), at::ones({to, 3})})[0];
    EXPECT_EQ(y.sizes(), at::IntArrayRef({4, 3}));
  }
}

/// x.expand(n, -1, 4) as torch exports it: a size of -1 is replaced by 1 with Equal and Where.
TEST(OnnxShape, ExpandAsTorchWritesIt) {
  const auto module = ModelBuilder(13)
                          .input("x", {1, 3, 1})
                          .input("like", {-1})
                          .constant("rest", ints({-1, 4}))
                          .constant("minus", ints({-1}))
                          .node("Shape", {"like"}, {"n"})
                          .node("Concat", {"n", "rest"}, {"sizes"}, {{"axis", int64_t{0}}})
                          .node("Shape", {"sizes"}, {"count"})
                          .node("ConstantOfShape", {"count"}, {"ones"}, {{"value", ints({1})}})
                          .node("Mul", {"ones", "minus"}, {"minus_ones"})
                          .node("Equal", {"sizes", "minus_ones"}, {"open"})
                          .node("Where", {"open", "ones", "sizes"}, {"to"})
                          .node("Expand", {"x", "to"}, {"y"})
                          .output("y")
                          .import();
  EXPECT_EQ(calls(*module), (Calls{"Tensor.size", "torch.broadcast_to"}));
  const Tensor y = run(*module, {at::ones({1, 3, 1}), at::ones({5})})[0];
  EXPECT_EQ(y.sizes(), at::IntArrayRef({5, 3, 4}));
}

/// A few bytes must not make the importer allocate gigabytes.
TEST(OnnxShape, LargeConstantsAreMadeWhenTheModelRuns) {
  const auto made = [](const char* type, const Ints& sizes) {
    const auto module = ModelBuilder(13)
                            .constant("x", at::ones({1, 1}))
                            .constant("sizes", ints(sizes))
                            .node(type, {"x", "sizes"}, {"y"})
                            .output("y")
                            .import();
    return calls(*module);
  };
  EXPECT_EQ(made("Expand", {2, 3}), Calls{});
  EXPECT_EQ(made("Expand", {1 << 30, 1 << 30}), Calls{"torch.broadcast_to"});
  EXPECT_EQ(made("Tile", {2, 3}), Calls{});
  EXPECT_EQ(made("Tile", {1 << 30, 1 << 30}), Calls{"torch.tile"});
  EXPECT_EQ(made("Pad", {1 << 30, 1 << 30, 0, 0}), Calls{"torch.nn.functional.pad"});
}

TEST(OnnxShape, UniqueInTheOrderOfAppearance) {
  const auto module = ModelBuilder(13)
                          .input("x", {4})
                          .node("Unique", {"x"}, {"y", "", "", "n"}, {{"sorted", int64_t{0}}})
                          .output("y")
                          .output("n")
                          .import();
  const auto results = run(*module, {at::tensor({2.0F, 1.0F, 2.0F, 0.0F})});
  EXPECT_TRUE(results[0].equal(at::tensor({2.0F, 1.0F, 0.0F})));
  EXPECT_TRUE(results[1].equal(ints({2, 1, 1})));
}

/// Shape arithmetic supports adding one axis to a size; with more axes it becomes a tensor.
TEST(OnnxShape, ASizeGainsAxes) {
  const struct {
    Ints axes, expected;
  } cases[] = {{{0}, {1}}, {{-1}, {1}}, {{0, 1}, {1, 1}}, {{-1, -3, -2}, {1, 1, 1}}};
  for (const int64_t opset : {11, 13}) {
    for (const auto& c : cases) {
      ModelBuilder model(opset);
      model.input("x", {-1, 3}).constant("zero", at::scalar_tensor(0, at::kLong));
      model.node("Shape", {"x"}, {"s"}).node("Gather", {"s", "zero"}, {"n"});
      if (opset < 13) {
        model.node("Unsqueeze", {"n"}, {"y"}, {{"axes", c.axes}});
      } else {
        model.constant("axes", ints(c.axes)).node("Unsqueeze", {"n", "axes"}, {"y"});
      }
      const auto module = model.output("y").import();
      EXPECT_TRUE(run(*module, {at::ones({5, 3})})[0].equal(at::full(c.expected, 5, at::kLong)))
          << at::IntArrayRef(c.axes);
    }
  }
}

TEST(OnnxShape, BlocksMovedBetweenAxesLeaveNoNames) {
  const auto sizes_after = [](const std::string& type) {
    const auto module =
        frontends::import_onnx(model_from_text("(float[N, C, H, W] x) => (float[N, D, I, J] y)"
                                               " { y = " +
                                               type + " <blocksize = 2> (x) }"));
    for (const fx::Node& node : module->graph().nodes()) {
      if (node.op() == fx::Opcode::CallFunction) return *node.tensor_info();
    }
    return fx::TensorInfo{};
  };
  for (const char* type : {"DepthToSpace", "SpaceToDepth"}) {
    EXPECT_EQ(sizes_after(type).symbols, (Names{"N", "", "", ""})) << type;
  }
}

TEST(OnnxShape, AxesOfATensorAreNotWithoutBound) {
  const Ints many(100, 1);
  EXPECT_EQ(import_error(ModelBuilder(13).input("x", many).output("x")),
            "model: 'x' has 100 axes, expected at most 64");
  EXPECT_EQ(import_error(ModelBuilder(13).constant("x", at::ones(many)).output("x")),
            "model: 'x' has 100 axes, expected at most 64");
  EXPECT_EQ(import_error(ModelBuilder(13)
                             .input("x", {1})
                             .constant("s", ints(many))
                             .node("Reshape", {"x", "s"}, {"y"})
                             .output("y")),
            "model: node 'y' (Reshape): 'y' has 100 axes, expected at most 64");
  Ints axes(100);
  std::iota(axes.begin(), axes.end(), 1);
  for (const char* type : {"Squeeze", "Unsqueeze"}) {
    EXPECT_EQ(
        import_error(ModelBuilder(13)
                         .input("x", {1})
                         .constant("a", ints(axes))
                         .node(type, {"x", "a"}, {"y"})
                         .output("y")),
        "model: node 'y' (" + std::string(type) + "): axes has 100 entries, expected at most 64");
  }
}

TEST(OnnxShape, WhatIsWrong) {
  const auto model = [](const char* type, const Ints& extra) {
    return ModelBuilder(13)
        .input("x", {2, 3})
        .constant("e", ints(extra))
        .node(type, {"x", "e"}, {"y"})
        .output("y");
  };
  EXPECT_EQ(import_error(model("Squeeze", {1})),
            "model: node 'y' (Squeeze): axis 1 has size 3, expected 1");
  EXPECT_EQ(import_error(model("Unsqueeze", {0, 0})),
            "model: node 'y' (Unsqueeze): axes names an axis twice: [0, 0]");
  EXPECT_EQ(import_error(model("Reshape", {0, 0, 0})),
            "model: node 'y' (Reshape): shape[2] copies the size of an axis that its input "
            "does not have");
  EXPECT_EQ(import_error(model("Tile", {2})),
            "model: node 'y' (Tile): repeats has 1 entries for an input with 2 axes");
  EXPECT_EQ(import_error(ModelBuilder(13)
                             .input("x", {2, 3})
                             .node("Transpose", {"x"}, {"y"}, {{"perm", Ints{0, 0}}})
                             .output("y")),
            "model: node 'y' (Transpose): perm is [0, 0] for an input with 2 axes");
}

}  // namespace
}  // namespace sparsebit::test::shape_test
