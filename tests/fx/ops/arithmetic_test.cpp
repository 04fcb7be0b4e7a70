#include "fx/ops/op_case.h"

#include "sparsebit/fx/ops/operator.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

namespace sparsebit::fx::test::arithmetic_test {
namespace {

TEST(Arithmetic, SumsEqualLibtorch) {
  const at::Tensor x = normal({3, 4}), row = normal({4}), column = normal({3, 1});
  const at::Tensor whole = integers({3, 4}, -5, 5);
  expect_equal_to_libtorch({
      {"torch.add(%a, %b)", {x, row}},
      {"torch.add(%a, 2)", {x}},
      {"torch.add(%a, 2.5)", {whole}},  // an int tensor and a float give floats
      {"torch.add(%a, %b, alpha=3)", {x, column}},
      {"torch.add(input=%a, other=%b, alpha=0.5)",
       {x, column},
       [](Tensors t) { return Tensors{t[0] + t[1] * 0.5}; }},
      {"operator.add(%a, %b)", {x, row}, [](Tensors t) { return Tensors{t[0] + t[1]}; }},
      {"operator.add(1, %a)", {x}, [](Tensors t) { return Tensors{1 + t[0]}; }},
      {"operator.concat(%a, %b)", {x, row}, [](Tensors t) { return Tensors{t[0] + t[1]}; }},
      {"%a.add(%b)", {x, row}},
      {"%a.add(%b, alpha=-1)", {x, row}},
      {"%a.add_(%b)", {x, row}},
      {"%a.add_(1.5)", {x}},
      {"operator.iadd(%a, %b)", {x, row}, [](Tensors t) { return Tensors{t[0] += t[1]}; }},
      {"operator.iadd(2, %a)", {x}, [](Tensors t) { return Tensors{t[0] + 2}; }},
      {"torch.sub(%a, %b)", {x, row}},
      {"torch.sub(%a, 2)", {x}},
      {"torch.sub(%a, %b, alpha=2)", {x, row}},
      {"torch.subtract(%a, %b)", {x, row}},
      {"operator.sub(2, %a)", {x}, [](Tensors t) { return Tensors{2 - t[0]}; }},
      {"operator.sub(2, %a)", {whole}, [](Tensors t) { return Tensors{2 - t[0]}; }},
      {"operator.sub(2.5, %a)", {whole}, [](Tensors t) { return Tensors{at::rsub(t[0], 2.5)}; }},
      {"%a.sub(%b)", {x, row}},
      {"%a.subtract(1)", {x}},
      {"%a.sub_(%b, alpha=2)", {x, row}},
      {"%a.subtract_(%b)", {x, row}},
      {"operator.isub(%a, 3)", {x}, [](Tensors t) { return Tensors{t[0] -= 3}; }},
      {"torch.rsub(%a, 2)", {x}},
      {"torch.rsub(%a, other=%b, alpha=2)", {x, row}},
      {"torch.neg(%a)", {x}},
      {"torch.negative(%a)", {x}},
      {"operator.neg(%a)", {x}, [](Tensors t) { return Tensors{-t[0]}; }},
      {"%a.neg()", {x}},
      {"%a.negative()", {x}},
      {"torch.neg_(%a)", {x}},
      {"torch.negative_(%a)", {x}},
      {"%a.neg_()", {x}},
      {"%a.negative_()", {x}},
      {"torch.positive(%a)", {x}},
      {"%a.positive()", {x}},
      {"operator.pos(%a)", {x}, [](Tensors t) { return Tensors{t[0]}; }},
  });
}

TEST(Arithmetic, ProductsEqualLibtorch) {
  const at::Tensor x = normal({3, 4}), row = positive({4}), whole = integers({3, 4}, -9, 9);
  expect_equal_to_libtorch({
      {"torch.mul(%a, %b)", {x, row}},
      {"torch.mul(%a, 3)", {whole}},
      {"torch.multiply(%a, 0.1)", {x}},
      {"operator.mul(%a, %b)", {x, row}, [](Tensors t) { return Tensors{t[0] * t[1]}; }},
      {"operator.mul(0.1, %a)", {x}, [](Tensors t) { return Tensors{0.1 * t[0]}; }},
      {"%a.mul(%b)", {x, row}},
      {"%a.multiply(2)", {x}},
      {"%a.mul_(%b)", {x, row}},
      {"%a.multiply_(2)", {x}},
      {"operator.imul(%a, 2.5)", {x}, [](Tensors t) { return Tensors{t[0] *= 2.5}; }},
      {"torch.div(%a, %b)", {x, row}},
      {"torch.div(%a, 2)", {whole}},  // true division of ints
      {"torch.div(%a, %b, rounding_mode='floor')", {x, row}},
      {"torch.div(%a, 2, rounding_mode='trunc')", {whole}},
      {"torch.div(2, %a)", {row}},
      {"torch.div(7, 2, rounding_mode='floor')",
       {},
       [](Tensors) { return Tensors{at::scalar_tensor(3, at::kLong)}; }},
      {"torch.divide(%a, %b, rounding_mode='trunc')", {x, row}},
      {"torch.true_divide(%a, %b)", {x, row}},
      {"operator.truediv(%a, %b)", {x, row}, [](Tensors t) { return Tensors{t[0] / t[1]}; }},
      {"operator.truediv(3, %a)", {x}, [](Tensors t) { return Tensors{t[0].reciprocal() * 3}; }},
      {"%a.div(%b)", {x, row}},
      {"%a.divide(%b)", {x, row}},
      {"%a.true_divide(%b)", {x, row}},
      {"%a.div_(%b, rounding_mode='floor')", {x, row}},
      {"%a.divide_(%b)", {x, row}},
      {"%a.true_divide_(3)", {x}},
      {"operator.itruediv(%a, 4)", {x}, [](Tensors t) { return Tensors{t[0] /= 4}; }},
      {"torch.floor_divide(%a, %b)", {x, row}, nullptr, false},
      {"torch.floor_divide(%a, 2)", {whole}},
      {"operator.floordiv(%a, 2)",
       {whole},
       [](Tensors t) { return Tensors{at::div(t[0], 2, "floor")}; }},
      {"operator.floordiv(7, %a)",
       {row},
       [](Tensors t) { return Tensors{at::div(at::full({}, 7.0f), t[0], "floor")}; },
       false},
      {"%a.floor_divide(%b)", {x, row}, nullptr, false},
      {"%a.floor_divide_(2)", {whole}},
      {"operator.ifloordiv(%a, 2)",
       {whole},
       [](Tensors t) { return Tensors{t[0].floor_divide_(2)}; }},
  });
}

TEST(Arithmetic, RemaindersAndPowersEqualLibtorch) {
  const at::Tensor x = normal({3, 4}), row = positive({4}), whole = integers({3, 4}, -9, 9);
  expect_equal_to_libtorch({
      {"torch.remainder(%a, %b)", {x, row}},
      {"torch.remainder(%a, 3)", {whole}},
      {"torch.remainder(5, %a)", {row}, nullptr, false},
      {"operator.mod(%a, 3)", {whole}, [](Tensors t) { return Tensors{at::remainder(t[0], 3)}; }},
      {"operator.mod(5, %a)",
       {row},
       [](Tensors t) { return Tensors{at::remainder(5, t[0])}; },
       false},
      {"%a.remainder(2)", {x}},
      {"%a.remainder_(2)", {x}},
      {"operator.imod(%a, 3)", {whole}, [](Tensors t) { return Tensors{t[0].remainder_(3)}; }},
      {"torch.pow(%a, 2)", {x}},
      {"torch.pow(%a, 2)", {whole}},
      {"torch.pow(%a, 0.5)", {row}},
      {"torch.pow(%a, -1)", {row}},
      {"torch.pow(%a, exponent=%b)", {positive({3, 4}), x}},
      {"torch.pow(2, %a)", {x}},
      {"operator.pow(%a, 3)", {x}, [](Tensors t) { return Tensors{at::pow(t[0], 3)}; }},
      {"operator.pow(2.0, %a)", {x}, [](Tensors t) { return Tensors{at::exp2(t[0])}; }, true, 1e-6},
      {"%a.pow(2.5)", {row}},
      {"%a.pow_(2)", {x}},
      {"%a.pow_(%b)", {positive({4}), row}},
      {"operator.ipow(%a, 2)", {x}, [](Tensors t) { return Tensors{t[0].pow_(2)}; }},
  });
}

TEST(Arithmetic, CombinationsEqualLibtorch) {
  const at::Tensor x = normal({3, 4}), y = normal({3, 4}), z = positive({3, 4});
  expect_equal_to_libtorch({
      {"torch.addcmul(%a, %b, %c)", {x, y, z}},
      {"torch.addcmul(%a, %b, %c, value=0.5)", {x, y, z}},
      {"%a.addcmul(%b, %c, value=2)", {x, y, z}},
      {"%a.addcmul_(%b, %c)", {x, y, z}},
      {"torch.addcdiv(%a, %b, %c)", {x, y, z}},
      {"torch.addcdiv(%a, %b, %c, value=0.5)", {x, y, z}},
      {"%a.addcdiv(%b, %c)", {x, y, z}},
      {"%a.addcdiv_(%b, %c, value=-1)", {x, y, z}},
      {"torch.lerp(%a, %b, 0.3)", {x, y}},
      {"torch.lerp(%a, %b, %c)", {x, y, z}},
      {"%a.lerp(%b, weight=0.7)", {x, y}},
      {"%a.lerp_(%b, %c)", {x, y, z}},
      {"%a.lerp_(%b, 0.3)", {x, y}},
  });
}

TEST(Arithmetic, PlainOperandsFollowPython) {
  expect_plain_results({
      {"operator.add(2, 3)", "int 5"},
      {"operator.add((1, 2), (4,))", "tuple (1, 2, 4)"},
      {"operator.iadd([1], [2])", "list [1, 2]"},
      {"operator.sub(2, 3.5)", "float -1.5"},
      {"operator.isub(2, 3)", "int -1"},
      {"operator.mul((0,), 3)", "tuple (0, 0, 0)"},
      {"operator.imul(3, 2)", "int 6"},
      {"operator.truediv(6, 3)", "float 2.0"},
      {"operator.itruediv(1, 4)", "float 0.25"},
      {"operator.floordiv(-7, 2)", "int -4"},
      {"operator.mod(-7, 4)", "int 1"},
      {"operator.pow(2, 5)", "int 32"},
      {"operator.pow(16, -0.5)", "float 0.25"},
      {"operator.neg(4)", "int -4"},
      {"operator.pos(4)", "int 4"},
  });
}

TEST(Arithmetic, ErrorsNameOperandsAndShapes) {
  EXPECT_EQ(error_of("torch.mul(%a, 'x')", {normal({2})}),
            "wrong type; expected a tensor or a number, found str 'x'\n"
            "  in operator 'mul' with input=Tensor[2] float32");
  EXPECT_EQ(error_of("operator.sub(%a, %b)", {normal({2}), normal({3})}),
            "PyTorch refused this: The size of tensor a (2) must match the size of tensor b (3) at "
            "non-singleton dimension "
            "0\n  in operator 'sub' with input=Tensor[2] float32, other=Tensor[3] float32");
  EXPECT_EQ(error_of("torch.add(%a, 1, beta=2)", {normal({2})}),
            "unknown argument 'beta'; the signature is (input, other, *, "
            "alpha=1, inplace=False)\n  in a call of torch.add");
}

at::Tensor call(std::string_view spelling, const std::vector<Value>& args, const Kwargs& kwargs) {
  const Spelling& found = operators().get(spelling);
  return run_kernel(*found.op, bind_call(found, args, kwargs)).tensor();
}

/// The hardware division traps; ours wraps around, as negation does.
TEST(Arithmetic, TheSmallestIntegerByMinusOne) {
  constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min();
  const at::Tensor x = at::tensor({kSmallest, int64_t{7}}),
                   y = at::tensor({int64_t{-1}, int64_t{-2}});
  const auto result = [&](const char* target, const Kwargs& kwargs = {}) {
    return call(target, {x, y}, kwargs);
  };
  const auto two = [](int64_t a, int64_t b) { return at::tensor({a, b}); };
  EXPECT_TRUE(result("torch.div", {{"rounding_mode", "trunc"}}).equal(two(kSmallest, -3)));
  EXPECT_TRUE(result("torch.div", {{"rounding_mode", "floor"}}).equal(two(kSmallest, -4)));
  EXPECT_TRUE(result("torch.floor_divide").equal(two(kSmallest, -4)));
  EXPECT_TRUE(result("torch.remainder").equal(two(0, -1)));
  EXPECT_TRUE(result("torch.fmod").equal(two(0, 1)));
  EXPECT_TRUE(result("operator.mod").equal(two(0, -1)));
  EXPECT_TRUE(call("torch.remainder", {x, -1}, {}).equal(two(0, 0)));
  const at::Tensor changed = x.clone();
  call("Tensor.floor_divide_", {changed, y}, {});
  EXPECT_TRUE(changed.equal(two(kSmallest, -4)));
  EXPECT_ANY_THROW(call("torch.floor_divide", {x, two(-1, 0)}, {}));
}

}  // namespace
}  // namespace sparsebit::fx::test::arithmetic_test
