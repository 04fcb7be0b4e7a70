#include "fx/ops/op_case.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

namespace sparsebit::fx::test::comparison_test {
namespace {

TEST(Comparison, ElementwiseFormsEqualLibtorch) {
  const at::Tensor x = integers({3, 4}, 0, 3), y = integers({4}, 0, 3), f = normal({3, 4});
  std::vector<OpCase> cases;
  for (const std::string name : {"eq", "ne", "lt", "le", "gt", "ge", "not_equal", "less",
                                 "less_equal", "greater", "greater_equal"}) {
    cases.push_back({"torch." + name + "(%a, %b)", {x, y}});
    cases.push_back({"torch." + name + "(%a, 1)", {x}});
    cases.push_back({"torch." + name + "(%a, 0.5)", {x}});
    cases.push_back({"%a." + name + "(%b)", {x, y}});
    cases.push_back({"%a." + name + "(0.1)", {f}});
  }
  expect_equal_to_libtorch(cases);
}

TEST(Comparison, PythonOperatorsEqualLibtorch) {
  const at::Tensor x = integers({3, 4}, 0, 3), y = integers({4}, 0, 3);
  expect_equal_to_libtorch({
      {"operator.eq(%a, %b)", {x, y}, [](Tensors t) { return Tensors{t[0] == t[1]}; }},
      {"operator.eq(1, %a)", {x}, [](Tensors t) { return Tensors{t[0] == 1}; }},
      {"operator.ne(%a, %b)", {x, y}, [](Tensors t) { return Tensors{t[0] != t[1]}; }},
      {"operator.lt(%a, %b)", {x, y}, [](Tensors t) { return Tensors{t[0] < t[1]}; }},
      {"operator.lt(1, %a)", {x}, [](Tensors t) { return Tensors{t[0] > 1}; }},
      {"operator.le(%a, %b)", {x, y}, [](Tensors t) { return Tensors{t[0] <= t[1]}; }},
      {"operator.gt(%a, %b)", {x, y}, [](Tensors t) { return Tensors{t[0] > t[1]}; }},
      {"operator.ge(%a, 1)", {x}, [](Tensors t) { return Tensors{t[0] >= 1}; }},
  });
}

TEST(Comparison, PlainOperandsFollowPython) {
  expect_plain_results({
      {"operator.eq(1, 1.0)", "bool True"},
      {"operator.eq('a', 'b')", "bool False"},
      {"operator.eq((1, 2), (1, 2))", "bool True"},
      {"operator.eq((1, 2), [1, 2])", "bool False"},
      {"operator.eq(None, None)", "bool True"},
      {"operator.eq(torch.float32, torch.float32)", "bool True"},
      {"operator.eq(cpu, cpu)", "bool True"},
      {"operator.eq(%a, None)", "bool False", {normal({2})}},
      {"operator.ne(%a, None)", "bool True", {normal({2})}},
      {"operator.ne(1, 2)", "bool True"},
      {"operator.lt(1, 2)", "bool True"},
      {"operator.le('a', 'a')", "bool True"},
      {"operator.gt((1, 2), (1, 1))", "bool True"},
      {"operator.ge(1, 2)", "bool False"},
  });
  EXPECT_EQ(error_of("operator.lt(%a, None)", {normal({2})}),
            "wrong type; expected a tensor or a number, found None\n"
            "  in operator 'lt' with input=Tensor[2] float32");
}

TEST(Comparison, ClosenessEqualsLibtorch) {
  const at::Tensor x = normal({3, 4}), near = x + 1e-4;
  at::Tensor nan = x.clone();
  nan[0][0] = std::numeric_limits<float>::quiet_NaN();
  expect_equal_to_libtorch({
      {"torch.isclose(%a, %b)", {x, near}},
      {"torch.isclose(%a, %b, 0.0, 1e-3)", {x, near}},
      {"torch.isclose(%a, %b, equal_nan=True)", {nan, nan}},
      {"%a.isclose(%b, atol=1e-3)", {x, near}},
      {"torch.allclose(%a, %b)", {x, near}},
      {"torch.allclose(%a, %b, rtol=0.0, atol=1e-3)", {x, near}},
      {"%a.allclose(%b, equal_nan=True)", {nan, nan}},
      {"torch.equal(%a, %b)", {x, near}},
      {"%a.equal(%b)", {x, x}},
  });
  expect_plain_results(
      {{"torch.allclose(%a, %a)", "bool True", {x}}, {"torch.equal(%a, %a)", "bool True", {x}}});
}

TEST(Comparison, WhereEqualsLibtorch) {
  const at::Tensor mask = booleans({3, 4}), x = normal({3, 4}), y = normal({4});
  expect_equal_to_libtorch({
      {"torch.where(%a, %b, %c)", {mask, x, y}},
      {"torch.where(%a, input=%b, other=%c)",
       {mask, x, y},
       [](Tensors t) { return Tensors{at::where(t[0], t[1], t[2])}; }},
      {"torch.where(%a, %b, 0.0)", {mask, x}},
      {"torch.where(%a, 1.5, %b)", {mask, y}},
      {"torch.where(%a, 1.0, 0.0)", {mask}},
      {"torch.where(%a, 1, 2)", {mask}},
      {"torch.where(%a)", {mask}},
      {"%a.where(%b, %c)", {x, mask, y}},
      {"%a.where(%b, 2.0)",
       {x, mask},
       [](Tensors t) { return Tensors{at::where(t[1], t[0], 2.0)}; }},
  });
  expect_plain_results({{"torch.where(%a)",
                         "tuple (tensor([0, 1], dtype=torch.int64),)",
                         {at::ones({2}, at::kBool)}}});
}

}  // namespace
}  // namespace sparsebit::fx::test::comparison_test
