#include "fx/ops/op_case.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::fx::test::builtins_test {
namespace {

TEST(Python, AttributesOfTensors) {
  const at::Tensor x = normal({2, 3});
  expect_plain_results({
      {"getattr(%a, 'shape')", "tuple (2, 3)", {x}},
      {"getattr(%a, 'dtype')", "dtype torch.float32", {x}},
      {"getattr(%a, 'device')", "device cpu", {x}},
      {"getattr(%a, 'ndim')", "int 2", {x}},
      {"getattr(%a, 'requires_grad')", "bool False", {x}},
      {"getattr(%a, 'is_cuda')", "bool False", {x}},
      {"getattr(cpu, 'type')", "str 'cpu'"},
      {"getattr(cpu, 'index')", "None"},
      {"getattr(cuda:1, 'index')", "int 1"},
      {"%a.size()", "tuple (2, 3)", {x}},
      {"%a.size(-1)", "int 3", {x}},
      {"%a.size(dim=0)", "int 2", {x}},
      {"%a.dim()", "int 2", {x}},
      {"%a.ndimension()", "int 2", {x}},
      {"torch.numel(%a)", "int 6", {x}},
      {"%a.numel()", "int 6", {x}},
      {"%a.nelement()", "int 6", {x}},
      {"torch.is_floating_point(%a)", "bool True", {x}},
      {"%a.is_floating_point()", "bool False", {at::arange(2)}},
  });
  expect_equal_to_libtorch({
      {"getattr(%a, 'T')", {x}, [](Tensors t) { return Tensors{t[0].t()}; }},
      {"getattr(%a, 'mT')",
       {normal({2, 3, 4})},
       [](Tensors t) { return Tensors{t[0].transpose(1, 2)}; }},
      {"getattr(%a, 'data')", {x}, [](Tensors t) { return Tensors{t[0].detach()}; }},
      {"getattr((%a, %b), 'values')", {x, normal({1})}, [](Tensors t) { return Tensors{t[0]}; }},
      {"getattr((%a, %b), 'indices')", {x, normal({1})}, [](Tensors t) { return Tensors{t[1]}; }},
  });
}

TEST(Python, UnknownAttributesListKnownOnes) {
  EXPECT_EQ(
      error_of("getattr(%a, 'shpe')", {normal({2})}),
      "a tensor has no attribute 'shpe'; did you mean 'shape'?; known: T, data, device, dtype, "
      "is_cuda, mT, ndim, requires_grad, shape\n"
      "  in operator 'getattr' with input=Tensor[2] float32");
  EXPECT_EQ(error_of("getattr((1, 2), 'first')"),
            "a tuple has no attribute 'first'; known: values, indices\n"
            "  in operator 'getattr' with input=tuple (1, 2)");
}

TEST(Python, ConversionsFollowPython) {
  const at::Tensor half = at::full({1}, 2.5), seven = at::full({}, 7, at::kLong);
  expect_plain_results({
      {"int(2.7)", "int 2"},
      {"int(-2.7)", "int -2"},
      {"int(True)", "int 1"},
      {"int(%a)", "int 2", {half}},
      {"int(%a)", "int 7", {seven}},
      {"float(2)", "float 2.0"},
      {"float(%a)", "float 7.0", {seven}},
      {"bool(0)", "bool False"},
      {"bool([0])", "bool True"},
      {"bool(%a)", "bool True", {half}},
      {"operator.index(5)", "int 5"},
      {"operator.index(%a)", "int 7", {seven}},
      {"tuple([1, 2])", "tuple (1, 2)"},
      {"tuple()", "tuple ()"},
      {"list((1, 2))", "list [1, 2]"},
      {"list(%a)",
       "list [tensor(0, dtype=torch.int64), tensor(1, dtype=torch.int64)]",
       {at::arange(2)}},
      {"torch.Size([1, 2])", "tuple (1, 2)"},
      {"range(3)", "list [0, 1, 2]"},
      {"range(1, 3)", "list [1, 2]"},
      {"range(5, 0, -2)", "list [5, 3, 1]"},
      {"range(0)", "list []"},
      {"range(2, 0)", "list []"},
      {"len((1, 2))", "int 2"},
      {"len('abc')", "int 3"},
      {"len({a: 1})", "int 1"},
      {"len(%a)", "int 4", {normal({4, 2})}},
  });
  EXPECT_EQ(error_of("len(%a)", {normal({})}),
            "len() of a 0-d tensor\n  in operator 'len' with input=Tensor[] float32");
  EXPECT_THAT(error_of("int(inf)"), testing::StartsWith("cannot convert inf to an int"));
  EXPECT_THAT(error_of("range(0, 1, 0)"), testing::StartsWith("range() arg 3 must not be zero"));
}

TEST(Python, BuiltinsFollowPython) {
  expect_plain_results({
      {"max(1, 3, 2)", "int 3"},
      {"max([1.5, 0])", "float 1.5"},
      {"max(1, 1.0)", "int 1"},  // the first of equal values
      {"min(2, 1)", "int 1"},
      {"min(('b', 'a'))", "str 'a'"},
      {"sum([1, 2, 3])", "int 6"},
      {"sum((1, 0.5), start=2)", "float 3.5"},
      {"round(2.5)", "int 2"},
      {"round(-3.5)", "int -4"},
      {"round(2.345, 1)", "float 2.3"},
      {"round(7)", "int 7"},
      {"operator.contains((1, 2), 2.0)", "bool True"},
      {"operator.contains('abc', 'bc')", "bool True"},
      {"operator.contains({a: 1}, 'b')", "bool False"},
      {"operator.is_(None, None)", "bool True"},
      {"operator.is_(%a, %a)", "bool True", {normal({1})}},
      {"operator.is_(%a, None)", "bool False", {normal({1})}},
      {"operator.is_not(%a, None)", "bool True", {normal({1})}},
      {"torch._assert(True, 'never')", "None"},
      {"torch._assert(%a, 'never')", "None", {at::ones({1}, at::kBool)}},
  });
  expect_equal_to_libtorch({
      {"sum([%a, %b])", {normal({2}), normal({2})}, [](Tensors t) { return Tensors{t[0] + t[1]}; }},
      {"sum(%a)", {normal({2, 3})}, [](Tensors t) { return Tensors{t[0][0] + t[0][1]}; }},
  });
  EXPECT_THAT(error_of("torch._assert(False, 'wrong image size')"),
              testing::StartsWith("the model's assertion failed: wrong image size"));
  EXPECT_THAT(error_of("max([])"), testing::StartsWith("needs at least one value"));
}

TEST(Python, MathModuleFollowsPython) {
  expect_plain_results({
      {"math.sqrt(16)", "float 4.0"},
      {"math.exp(0)", "float 1.0"},
      {"math.log(1)", "float 0.0"},
      {"math.log2(8)", "float 3.0"},
      {"math.log10(1000)", "float 3.0"},
      {"math.sin(0)", "float 0.0"},
      {"math.cos(0)", "float 1.0"},
      {"math.tanh(0)", "float 0.0"},
      {"math.floor(-1.5)", "int -2"},
      {"math.floor(3)", "int 3"},
      {"math.floor(%a)", "int -2", {at::full({1}, -1.5)}},
      {"math.ceil(1.2)", "int 2"},
      {"math.trunc(-1.7)", "int -1"},
      {"math.pow(2, 3)", "float 8.0"},
      {"math.prod((2, 3, 4))", "int 24"},
      {"math.prod([2, 3], start=0.5)", "float 3.0"},
      {"math.prod(())", "int 1"},
  });
  EXPECT_THAT(error_of("math.sqrt(-1)"), testing::StartsWith("math.sqrt is not defined for -1"));
  EXPECT_THAT(error_of("math.log(0)"), testing::StartsWith("math.log is not defined for 0"));
}

}  // namespace
}  // namespace sparsebit::fx::test::builtins_test
