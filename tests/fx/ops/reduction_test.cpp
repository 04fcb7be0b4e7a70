#include "fx/ops/op_case.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::fx::test::reduction_test {
namespace {

TEST(Reduction, TotalsEqualLibtorch) {
  const at::Tensor x = normal({2, 3, 4}), whole = integers({2, 3}, 0, 9);
  std::vector<OpCase> cases;
  for (const std::string name : {"sum", "mean"}) {
    cases.push_back({"torch." + name + "(%a)", {x}});
    cases.push_back({"torch." + name + "(%a, 1)", {x}});
    cases.push_back({"torch." + name + "(%a, -1, True)", {x}});
    cases.push_back({"torch." + name + "(%a, (0, 2))", {x}});
    cases.push_back({"torch." + name + "(%a, dim=[1, 2], keepdim=True)", {x}});
    cases.push_back({"%a." + name + "()", {x}});
    cases.push_back({"%a." + name + "(dim=-1)", {x}});
    cases.push_back({"%a." + name + "((-1, -2), keepdim=True)", {x}});
  }
  expect_equal_to_libtorch(cases);
  expect_equal_to_libtorch({
      {"torch.sum(%a)", {whole}},
      {"torch.sum(%a)", {booleans({5})}},
      {"torch.sum(%a, dtype=torch.float64)",
       {x},
       [](Tensors t) { return Tensors{at::sum(t[0], at::kDouble)}; }},
      {"torch.mean(%a, dtype=torch.float32)",
       {whole},
       [](Tensors t) { return Tensors{at::mean(t[0], at::kFloat)}; }},
      {"%a.sum(axis=1, keepdims=True)",
       {x},
       [](Tensors t) { return Tensors{at::sum(t[0], 1, true)}; }},
      {"torch.prod(%a)", {x}},
      {"torch.prod(%a, 1)", {x}},
      {"torch.prod(%a, dim=-1, keepdim=True)", {x}},
      {"%a.prod(0, dtype=torch.float64)",
       {x},
       [](Tensors t) { return Tensors{at::prod(t[0], 0, false, at::kDouble)}; }},
      {"%a.prod()", {whole}},
      {"torch.logsumexp(%a, 1)", {x}},
      {"torch.logsumexp(%a, (0, -1), True)", {x}},
      {"%a.logsumexp(dim=-1, keepdim=True)", {x}},
  });
}

TEST(Reduction, NormsEqualLibtorch) {
  const at::Tensor x = normal({3, 4});
  expect_equal_to_libtorch({
      {"torch.norm(%a)", {x}, [](Tensors t) { return Tensors{at::norm(t[0])}; }, true, 1e-6},
      {"torch.norm(%a, 1)", {x}, nullptr, true, 1e-6},
      {"torch.norm(%a, 2, 1)", {x}, nullptr, true, 1e-6},
      {"torch.norm(%a, p=3, dim=(0, 1), keepdim=True)", {x}, nullptr, true, 1e-6},
      {"torch.norm(%a, inf)", {x}, [](Tensors t) { return Tensors{t[0].abs().max()}; }, true, 1e-6},
      {"torch.norm(%a, dim=-1)",
       {x},
       [](Tensors t) { return Tensors{at::frobenius_norm(t[0], {-1})}; },
       true,
       1e-6},
      {"torch.norm(%a, 'nuc')",
       {x},
       [](Tensors t) { return Tensors{at::nuclear_norm(t[0])}; },
       true,
       1e-5},
      {"torch.norm(%a, 'nuc', dim=(0, 1), dtype=torch.float64)",
       {x},
       [](Tensors t) { return Tensors{at::nuclear_norm(t[0].to(at::kDouble))}; },
       true,
       1e-5},
      {"%a.norm(2, -1, True)", {x}, nullptr, true, 1e-6},
      {"%a.norm(p='fro', dtype=torch.float64)",
       {x},
       [](Tensors t) { return Tensors{at::norm(t[0].to(at::kDouble))}; },
       true,
       1e-6},
      {"torch.linalg.vector_norm(%a, ord=1, dim=1)",
       {x},
       [](Tensors t) { return Tensors{t[0].abs().sum(1)}; },
       true,
       1e-6},
  });
}

TEST(Reduction, ExtremaEqualLibtorch) {
  const at::Tensor x = normal({2, 3, 4}), y = normal({3, 4});
  std::vector<OpCase> cases;
  for (const std::string name : {"max", "min"}) {
    cases.push_back({"torch." + name + "(%a)", {x}});
    cases.push_back({"torch." + name + "(%a, 1)", {x}});
    cases.push_back({"torch." + name + "(%a, dim=-1, keepdim=True)", {x}});
    cases.push_back({"torch." + name + "(%a, %b)", {x, y}});
    cases.push_back({"torch." + name + "(%a, other=%b)", {x, y}});
    cases.push_back({"%a." + name + "()", {x}});
    cases.push_back({"%a." + name + "(0, True)", {x}});
    cases.push_back({"%a." + name + "(%b)", {x, y}});
  }
  for (const std::string name : {"amax", "amin"}) {
    cases.push_back({"torch." + name + "(%a)", {x}});
    cases.push_back({"torch." + name + "(%a, 1, True)", {x}});
    cases.push_back({"torch." + name + "(%a, dim=(0, -1))", {x}});
    cases.push_back({"%a." + name + "([1, 2])", {x}});
  }
  for (const std::string name : {"argmax", "argmin"}) {
    cases.push_back({"torch." + name + "(%a)", {x}});
    cases.push_back({"torch." + name + "(%a, 1)", {x}});
    cases.push_back({"torch." + name + "(%a, dim=-1, keepdim=True)", {x}});
    cases.push_back({"%a." + name + "(-1)", {x}});
  }
  expect_equal_to_libtorch(cases);
}

TEST(Reduction, SpreadsEqualLibtorch) {
  const at::Tensor x = normal({2, 3, 4});
  std::vector<OpCase> cases;
  for (const std::string name : {"torch.var", "torch.std", "torch.var_mean", "torch.std_mean"}) {
    cases.push_back({name + "(%a)", {x}});
    cases.push_back({name + "(%a, False)", {x}});
    cases.push_back({name + "(%a, unbiased=False)", {x}});
    cases.push_back({name + "(%a, [1])", {x}});
    cases.push_back({name + "(%a, [0, -1], False, True)", {x}});
    cases.push_back({name + "(%a, dim=[2], correction=0, keepdim=True)", {x}});
    cases.push_back({name + "(%a, dim=[1, 2], unbiased=False, keepdim=True)", {x}});
  }
  for (const std::string name : {"var", "std"}) {
    cases.push_back({"%a." + name + "()", {x}});
    cases.push_back({"%a." + name + "([-1], unbiased=False)", {x}});
  }
  expect_equal_to_libtorch(cases);
  expect_equal_to_libtorch({
      {"%a.var(1, keepdim=True)",
       {x},
       [](Tensors t) { return Tensors{at::var(t[0], {1}, true, true)}; }},
      {"torch.std(%a, correction=2)",
       {x},
       [](Tensors t) { return Tensors{at::std(t[0], c10::nullopt, c10::optional<int64_t>(2))}; }},
  });
}

TEST(Reduction, TestsEqualLibtorch) {
  const at::Tensor p = booleans({3, 4}), x = integers({3, 4}, 0, 2);
  std::vector<OpCase> cases;
  for (const std::string name : {"all", "any"}) {
    cases.push_back({"torch." + name + "(%a)", {p}});
    cases.push_back({"torch." + name + "(%a, 1)", {p}});
    cases.push_back({"torch." + name + "(%a, dim=-1, keepdim=True)", {x}});
    cases.push_back({"%a." + name + "()", {p}});
    cases.push_back({"%a." + name + "(0, True)", {p}});
  }
  expect_equal_to_libtorch(cases);
  expect_equal_to_libtorch({
      {"torch.count_nonzero(%a)", {x}},
      {"torch.count_nonzero(%a, 1)", {x}},
      {"torch.count_nonzero(%a, dim=(0, 1))", {x}},
      {"%a.count_nonzero(-1)", {x}},
  });
}

TEST(Reduction, WrongDimNamesTheOperator) {
  EXPECT_EQ(error_of("torch.mean(%a, 2)", {normal({2, 3})}),
            "PyTorch refused this: Dimension out of range (expected to be in range of [-2, 1], but "
            "got 2)\n"
            "  in operator 'mean' with input=Tensor[2, 3] float32");
  EXPECT_EQ(error_of("torch.sum(%a, dim='x')", {normal({2, 3})}),
            "wrong type; expected an int, found str 'x'\n  in argument 'dim'\n"
            "  in operator 'sum' with input=Tensor[2, 3] float32");
}

}  // namespace
}  // namespace sparsebit::fx::test::reduction_test
