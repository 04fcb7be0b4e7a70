#include "fx/ops/op_case.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

namespace sparsebit::fx::test::math_test {
namespace {

/// torch.NAME, Tensor.NAME, torch.NAME_ and Tensor.NAME_ for each name.
std::vector<OpCase> four_forms(const std::vector<std::string>& names, const at::Tensor& x,
                               bool inplace_gradients = true) {
  std::vector<OpCase> cases;
  for (const std::string& name : names) {
    for (const std::string suffix : {"", "_"}) {
      const bool gradients = suffix.empty() || inplace_gradients;
      cases.push_back({"torch." + name + suffix + "(%a)", {x}, nullptr, gradients});
      cases.push_back({"%a." + name + suffix + "()", {x}, nullptr, gradients});
    }
  }
  return cases;
}

TEST(Math, ElementwiseFunctionsEqualLibtorch) {
  expect_equal_to_libtorch(
      four_forms({"exp", "exp2", "expm1", "erf", "erfc", "square", "sin", "cos", "tan", "atan",
                  "arctan", "sinh", "cosh", "floor", "ceil", "trunc", "fix", "frac", "round"},
                 normal({3, 5}) * 2));
  expect_equal_to_libtorch(four_forms(
      {"log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal"}, positive({3, 5})));
  expect_equal_to_libtorch(four_forms({"asin", "arcsin", "acos", "arccos"}, positive({3, 5}) / 3));
  // libtorch has no derivative of these in-place forms.
  expect_equal_to_libtorch(
      four_forms({"asinh", "arcsinh", "atanh", "arctanh"}, positive({3, 5}) / 3, false));
  expect_equal_to_libtorch(four_forms({"acosh", "arccosh"}, positive({3, 5}) + 1, false));
}

TEST(Math, SignsAndRoundingEqualLibtorch) {
  const at::Tensor x = normal({3, 5}) * 3, whole = integers({4}, -5, 5);
  expect_equal_to_libtorch({
      {"torch.abs(%a)", {x}},
      {"torch.abs(%a)", {whole}},
      {"torch.absolute(%a)", {x}},
      {"%a.abs()", {x}},
      {"%a.absolute()", {x}},
      {"torch.abs_(%a)", {x}},
      {"%a.abs_()", {x}},
      {"%a.absolute_()", {x}},
      {"operator.abs(%a)", {x}, [](Tensors t) { return Tensors{t[0].abs()}; }},
      {"abs(%a)", {x}},
      {"torch.sign(%a)", {x}},
      {"%a.sign()", {x}},
      {"%a.sign_()", {x}},
      {"torch.round(%a, decimals=1)", {x}},
      {"%a.round(decimals=2)", {x}},
      {"torch.round_(%a, decimals=1)", {x}},
      {"%a.round_(decimals=-1)", {x}},
      {"torch.atan2(%a, %b)", {x, normal({5})}},
      {"torch.arctan2(%a, %b)", {x, normal({5})}},
      {"%a.atan2(%b)", {x, normal({5})}},
      {"%a.arctan2(%b)", {x, normal({5})}},
      {"%a.atan2_(%b)", {x, normal({5})}},
      {"%a.arctan2_(%b)", {x, normal({5})}},
  });
  expect_plain_results({{"abs(-3)", "int 3"}, {"operator.abs(-2.5)", "float 2.5"}});
}

TEST(Math, ClampEqualsLibtorch) {
  const at::Tensor x = normal({3, 5}), low = normal({5}) - 1, high = normal({5}) + 1;
  expect_equal_to_libtorch({
      {"torch.clamp(%a, -0.5, 0.5)", {x}},
      {"torch.clamp(%a, min=0)", {x}},
      {"torch.clamp(%a, max=0.3)", {x}},
      {"torch.clamp(%a, 0)", {x}},
      {"torch.clamp(%a, None, 0.5)", {x}},
      {"torch.clamp(%a, %b, %c)", {x, low, high}},
      {"torch.clamp(%a, max=%b)",
       {x, high},
       [](Tensors t) { return Tensors{t[0].clamp_max(t[1])}; }},
      {"torch.clamp(%a, 0.0, %b)",
       {x, high},
       [](Tensors t) { return Tensors{at::clamp(t[0], at::zeros({}), t[1])}; }},
      {"torch.clip(%a, -0.5, 0.5)", {x}},
      {"%a.clamp(-1, 1)", {integers({6}, -5, 5)}},
      {"%a.clip(min=-0.1)", {x}},
      {"torch.clamp_(%a, -0.5, 0.5)", {x}},
      {"torch.clip_(%a, -0.5, 0.5)", {x}},
      {"%a.clamp_(%b, %c)", {x, low, high}},
      {"%a.clip_(max=0.1)", {x}},
      {"torch.clamp_min(%a, 0.1)", {x}},
      {"torch.clamp_max(%a, 0.1)", {x}},
      {"%a.clamp_min(%b)", {x, low}},
      {"%a.clamp_max(0.2)", {x}},
      {"torch.clamp_min_(%a, 0.1)", {x}},
      {"torch.clamp_max_(%a, 0.1)", {x}},
      {"%a.clamp_min_(0.1)", {x}},
      {"%a.clamp_max_(%b)", {x, high}},
  });
  EXPECT_EQ(error_of("torch.clamp(%a)", {normal({2})}),
            "PyTorch refused this: torch.clamp: At least one of 'min' or 'max' must not be None\n"
            "  in operator 'clamp' with input=Tensor[2] float32");
}

TEST(Math, MaximumAndFmodEqualLibtorch) {
  const at::Tensor x = normal({3, 5}), y = normal({5}), z = positive({5});
  expect_equal_to_libtorch({
      {"torch.maximum(%a, %b)", {x, y}},
      {"%a.maximum(%b)", {x, y}},
      {"torch.minimum(%a, %b)", {x, y}},
      {"%a.minimum(%b)", {x, y}},
      {"torch.fmod(%a, %b)", {x, z}},
      {"torch.fmod(%a, 2)", {integers({6}, -9, 9)}},
      {"%a.fmod(0.7)", {x}},
      {"%a.fmod_(%b)", {x, z}},
  });
}

TEST(Math, FinitenessEqualsLibtorch) {
  at::Tensor x = normal({6});
  x[1] = std::numeric_limits<float>::quiet_NaN();
  x[2] = std::numeric_limits<float>::infinity();
  x[4] = -std::numeric_limits<float>::infinity();
  expect_equal_to_libtorch({
      {"torch.isnan(%a)", {x}},
      {"%a.isnan()", {x}},
      {"torch.isinf(%a)", {x}},
      {"%a.isinf()", {x}},
      {"torch.isfinite(%a)", {x}},
      {"%a.isfinite()", {x}},
      {"torch.nan_to_num(%a)", {x}},
      {"torch.nan_to_num(%a, 1.0, 2.0, 3.0)", {x}},
      {"%a.nan_to_num(posinf=5.0)", {x}},
      {"torch.nan_to_num_(%a)", {x}},
      {"%a.nan_to_num_(nan=0.5, neginf=-7.0)", {x}},
  });
}

TEST(Math, RunningTotalsEqualLibtorch) {
  const at::Tensor x = positive({3, 5});
  expect_equal_to_libtorch({
      {"torch.cumsum(%a, 1)", {x}},
      {"torch.cumsum(%a, dim=0)", {integers({3, 2}, 0, 9)}},
      {"torch.cumsum(%a, -1, dtype=torch.float64)",
       {x},
       [](Tensors t) { return Tensors{at::cumsum(t[0], -1, at::kDouble)}; }},
      {"%a.cumsum(0)", {booleans({4, 2})}},
      {"%a.cumsum_(1)", {x}},
      {"torch.cumprod(%a, 1)", {x}},
      {"%a.cumprod(dim=-2)", {x}},
      {"%a.cumprod_(0)", {x}},
  });
}

}  // namespace
}  // namespace sparsebit::fx::test::math_test
