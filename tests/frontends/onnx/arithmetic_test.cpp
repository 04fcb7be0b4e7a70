#include "frontends/onnx/model_builder.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <limits>
#include <optional>

namespace sparsebit::test::arithmetic_test {
namespace {

using at::Tensor;
using Calls = std::vector<std::string>;

/// `type(x, c)` or, with `flipped`, `type(c, x)` where c is a constant.
struct Case {
  std::string type;
  Tensor x, constant;
  Calls calls;
  Tensor expected;
  bool flipped = false;
  std::vector<Attribute> attributes = {};
  int64_t opset = 13;
};

void expect_conversions(const std::vector<Case>& cases) {
  for (const Case& item : cases) {
    SCOPED_TRACE(item.type + (item.flipped ? " flipped" : ""));
    const std::vector<std::string> inputs =
        item.flipped ? std::vector<std::string>{"c", "x"} : std::vector<std::string>{"x", "c"};
    const auto module = ModelBuilder(item.opset)
                            .input("x", item.x.sizes().vec(), item.x.scalar_type())
                            .constant("c", item.constant)
                            .node(item.type, inputs, {"y"}, item.attributes)
                            .output("y")
                            .import();
    EXPECT_EQ(calls(*module), item.calls);
    const Tensor y = run(*module, {item.x})[0];
    EXPECT_EQ(y.scalar_type(), item.expected.scalar_type());
    EXPECT_TRUE(y.equal(item.expected)) << y << item.expected;
  }
}

Tensor ints(const std::vector<int64_t>& values, at::ScalarType dtype = at::kInt) {
  return at::tensor(values, at::kLong).to(dtype);
}

TEST(OnnxArithmetic, ConstantsWithoutAxesAreNumbers) {
  const Tensor x = at::tensor({-2.0F, 0.5F, 3.0F}), two = at::scalar_tensor(2.0);
  expect_conversions({
      {"Add", x, two, {"torch.add"}, x + 2},
      {"Sub", x, two, {"operator.sub"}, 2 - x, true},
      {"Div", x, two, {"operator.truediv"}, 2 / x, true},
      {"Pow", x, two, {"torch.pow"}, x * x},
      {"Max", x, two, {"torch.clamp"}, x.clamp_min(2)},
      {"Min", x, two, {"torch.clamp"}, x.clamp_max(2), true},
      {"Less", x, two, {"operator.lt"}, 2 < x, true},
      {"Mul", x, at::tensor({1.0F, 2.0F, 3.0F}), {"torch.mul"}, x * at::tensor({1.0F, 2.0F, 3.0F})},
  });
}

TEST(OnnxArithmetic, IntegersStayIntegers) {
  const Tensor x = ints({-7, 7, 5}), three = at::scalar_tensor(3, at::kInt);
  expect_conversions({
      {"Div", x, three, {"torch.div"}, ints({-2, 2, 1})},
      {"Div", x, ints({2, -2, 3}), {"torch.div"}, ints({-3, -3, 1})},
      {"Div", x, three, {"torch.div"}, ints({0, 0, 0}), true},
      {"Mod", x, three, {"torch.remainder"}, ints({2, 1, 2})},
      {"Mod", x, three, {"torch.fmod"}, ints({-1, 1, 2}), false, {{"fmod", int64_t{1}}}},
      {"Pow",
       x,
       at::scalar_tensor(2.0),
       {"Tensor.to", "torch.pow", "Tensor.to"},
       ints({49, 49, 25})},
      {"Pow",
       at::tensor({2.0F, 3.0F}),
       at::tensor({2, 3}, at::kLong),
       {"torch.pow"},
       at::tensor({4.0F, 27.0F})},
  });
}

TEST(OnnxArithmetic, OldOperandsAreAlignedWithAnyAxis) {
  const Tensor x = at::rand({2, 3, 4}), bias = at::tensor({1.0F, 2.0F, 3.0F});
  const std::vector<Attribute> axis = {{"broadcast", int64_t{1}}, {"axis", int64_t{1}}};
  expect_conversions({{"Add", x, bias, {"torch.add"}, x + bias.reshape({3, 1}), false, axis, 6}});
}

TEST(OnnxArithmetic, MatMulAndAddAreOneLayer) {
  const Tensor x = at::rand({2, 3}), weight = at::rand({3, 4}), bias = at::rand({4});
  const auto module = ModelBuilder(13)
                          .input("x", {2, 3})
                          .constant("w", weight)
                          .constant("b", bias)
                          .node("MatMul", {"x", "w"}, {"p"})
                          .node("Add", {"b", "p"}, {"y"})
                          .output("y")
                          .import();
  EXPECT_EQ(calls(*module), Calls{"torch.nn.Linear"});
  EXPECT_TRUE(at::allclose(run(*module, {x})[0], x.matmul(weight) + bias));
}

TEST(OnnxArithmetic, AnAddThatIsNotUnderstoodLeavesTheProduct) {
  const auto module = ModelBuilder(13)
                          .input("x", {2, 3})
                          .constant("w", at::rand({3, 4}))
                          .constant("b", at::rand({4}))
                          .node("MatMul", {"x", "w"}, {"p"})
                          .node("Add", {"p", "b"}, {"y"}, {{"strange", int64_t{1}}})
                          .output("y")
                          .import();
  EXPECT_EQ(calls(*module), (Calls{"torch.nn.Linear", "onnx.Add"}));
}

TEST(OnnxArithmetic, IsInfFindsEitherSign) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor x = at::tensor({infinity, 1.0F, -infinity});
  const auto found = [&](int64_t negative, int64_t positive) {
    const auto module = ModelBuilder(10)
                            .input("x", {3})
                            .node("IsInf", {"x"}, {"y"},
                                  {{"detect_negative", negative}, {"detect_positive", positive}})
                            .output("y")
                            .import();
    return run(*module, {x})[0];
  };
  EXPECT_TRUE(found(1, 1).equal(x.isinf()));
  EXPECT_TRUE(found(0, 1).equal(x == infinity));
  EXPECT_TRUE(found(1, 0).equal(x == -infinity));
  EXPECT_TRUE(found(0, 0).equal(at::zeros({3}, at::kBool)));
}

TEST(OnnxArithmetic, CumSumAlongConstantAxisIsTorchs) {
  const Tensor x = ints({1, 2, 3, 4}).reshape({2, 2});
  const auto module = [&](const std::vector<Attribute>& attributes) {
    return ModelBuilder(14)
        .input("x", {2, 2}, at::kInt)
        .constant("axis", at::scalar_tensor(1, at::kInt))
        .node("CumSum", {"x", "axis"}, {"y"}, attributes)
        .output("y")
        .import();
  };
  const auto plain = module({}), reversed = module({{"reverse", int64_t{1}}});
  const auto exclusive = module({{"exclusive", int64_t{1}}});
  EXPECT_EQ(calls(*plain), Calls{"torch.cumsum"});
  EXPECT_EQ(calls(*exclusive), Calls{"onnx.CumSum"});
  EXPECT_TRUE(run(*plain, {x})[0].equal(ints({1, 3, 3, 7}).reshape({2, 2})));
  EXPECT_TRUE(run(*reversed, {x})[0].equal(ints({3, 2, 7, 4}).reshape({2, 2})));
  EXPECT_TRUE(run(*exclusive, {x})[0].equal(ints({0, 1, 0, 3}).reshape({2, 2})));
}

/// As torch.onnx exports x.expand(size, -1): the comparison is evaluated during import.
TEST(OnnxArithmetic, ChoicesBetweenSizesAreMadeAtImport) {
  const auto module = ModelBuilder(13)
                          .input("x", {-1, 4})
                          .constant("ones", at::ones({2}, at::kLong))
                          .constant("keep", at::full({2}, -1, at::kLong))
                          .node("Shape", {"x"}, {"shape"})
                          .node("Equal", {"shape", "keep"}, {"kept"})
                          .node("Where", {"kept", "ones", "shape"}, {"sizes"})
                          .node("ConstantOfShape", {"sizes"}, {"y"})
                          .output("y")
                          .import();
  EXPECT_EQ(calls(*module), (Calls{"Tensor.size", "torch.full"}));
  EXPECT_TRUE(run(*module, {at::rand({3, 4})})[0].equal(at::zeros({3, 4})));
}

TEST(OnnxArithmetic, WhereTakesANumberOnOneSide) {
  const Tensor x = at::tensor({-1.0, 2.0}, at::kDouble);
  const auto module = ModelBuilder(13)
                          .input("x", {2}, at::kDouble)
                          .constant("zero", at::scalar_tensor(0.0, at::kDouble))
                          .node("Less", {"x", "zero"}, {"negative"})
                          .node("Where", {"negative", "zero", "x"}, {"y"})
                          .output("y")
                          .import();
  EXPECT_EQ(calls(*module), (Calls{"torch.lt", "torch.where"}));
  EXPECT_TRUE(run(*module, {x})[0].equal(x.clamp_min(0)));
}

/// `type(a, b)` of inputs for which the file states nothing, or only the element type.
std::unique_ptr<fx::GraphModule> of_unknown(const std::string& type,
                                            std::optional<at::ScalarType> dtype) {
  ModelBuilder builder(13);
  builder.input("a", {}, dtype.value_or(at::kFloat)).input("b", {}, dtype.value_or(at::kFloat));
  for (onnx::ValueInfoProto& input : *builder.model().mutable_graph()->mutable_input()) {
    if (dtype) input.mutable_type()->mutable_tensor_type()->clear_shape();
    if (!dtype) input.clear_type();
  }
  return builder.node("Neg", {"a"}, {"minus"})
      .node("Neg", {"minus"}, {"same"})
      .node("Identity", {"b"}, {"other"})
      .node(type, {"same", "other"}, {"y"})
      .output("y")
      .import();
}

TEST(OnnxArithmetic, DivisionsOfUnknownTypesAreDecidedAtTheRun) {
  const auto module = of_unknown("Div", std::nullopt);
  EXPECT_EQ(calls(*module).back(), "onnx.Div");
  EXPECT_TRUE(run(*module, {ints({-7, 7, 8}), ints({2, 2, 3})})[0].equal(ints({-3, 3, 2})));
  EXPECT_TRUE(
      run(*module, {at::tensor({-7.0F}), at::tensor({2.0F})})[0].equal(at::tensor({-3.5F})));
  EXPECT_THAT(
      [&] {
        run(*module, {ints({1}), ints({0})});
      },
      testing::ThrowsMessage<std::exception>(testing::HasSubstr("an integer is divided by zero")));
}

TEST(OnnxArithmetic, ATypeWithoutShapeIsEnough) {
  EXPECT_EQ(calls(*of_unknown("Div", at::kFloat)).back(), "torch.div");
  const auto whole = of_unknown("Div", at::kInt);
  EXPECT_EQ(calls(*whole).back(), "torch.div");
  EXPECT_TRUE(run(*whole, {ints({-7, 7}), ints({2, 2})})[0].equal(ints({-3, 3})));
}

TEST(OnnxArithmetic, PowersOfUnknownTypesKeepTheBasesType) {
  const auto module = of_unknown("Pow", std::nullopt);
  EXPECT_EQ(calls(*module).back(), "onnx.Pow");
  const Tensor roots = run(*module, {ints({4, 9}), at::tensor({0.5F, 0.5F})})[0];
  EXPECT_TRUE(roots.equal(ints({2, 3}))) << roots;
  EXPECT_EQ(roots.scalar_type(), at::kInt);
  EXPECT_TRUE(run(*module, {at::tensor({0.5F}), ints({2})})[0].equal(at::tensor({0.25F})));
}

/// The processor traps on this division; a file must not terminate the process.
TEST(OnnxArithmetic, TheSmallestIntegerByMinusOne) {
  for (const auto dtype : {at::kInt, at::kLong}) {
    const int64_t smallest = dtype == at::kInt ? std::numeric_limits<int32_t>::min()
                                               : std::numeric_limits<int64_t>::min();
    const Tensor x = ints({smallest, 5}, dtype), y = ints({-1, -1}, dtype);
    for (const auto& known : {std::optional(dtype), std::optional<at::ScalarType>()}) {
      EXPECT_TRUE(run(*of_unknown("Div", known), {x, y})[0].equal(ints({smallest, -5}, dtype)));
    }
    EXPECT_TRUE(run(*of_unknown("Mod", dtype), {x, y})[0].equal(ints({0, 0}, dtype)));
  }
}

}  // namespace
}  // namespace sparsebit::test::arithmetic_test
