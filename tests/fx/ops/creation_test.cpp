#include "fx/ops/op_case.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::fx::test::creation_test {
namespace {

TEST(Creation, ConstantsEqualLibtorch) {
  const at::Tensor x = normal({2, 3}), whole = integers({4}, 0, 9);
  expect_equal_to_libtorch({
      {"torch.zeros(2, 3)", {}},
      {"torch.zeros([2, 3])", {}},
      {"torch.zeros((2, 3), dtype=torch.int64)",
       {},
       [](Tensors) {
         return Tensors{at::zeros({2, 3}, at::kLong)};
       }},
      {"torch.empty(2, dtype=torch.float64, device=cpu)",
       {},
       [](Tensors) { return Tensors{at::zeros({2}, at::kDouble)}; }},
      {"torch.ones(4)", {}, [](Tensors) { return Tensors{at::ones({4})}; }},
      {"torch.ones(size=(2, 1), dtype=torch.bool)",
       {},
       [](Tensors) {
         return Tensors{at::ones({2, 1}, at::kBool)};
       }},
      {"torch.full((2, 3), 7)", {}},
      {"torch.full([2], 0.5)", {}},
      {"torch.full([2], True)", {}, [](Tensors) { return Tensors{at::full({2}, true)}; }},
      {"torch.full([2], fill_value=7, dtype=torch.float64)",
       {},
       [](Tensors) { return Tensors{at::full({2}, 7, at::kDouble)}; }},
      {"torch.zeros_like(%a)", {x}},
      {"torch.zeros_like(%a, dtype=torch.int32)",
       {x},
       [](Tensors t) { return Tensors{at::zeros_like(t[0], at::kInt)}; }},
      {"torch.empty_like(%a)", {x}, [](Tensors t) { return Tensors{at::zeros_like(t[0])}; }},
      {"torch.ones_like(%a)", {whole}},
      {"torch.full_like(%a, 2.5)", {x}},
      {"torch.full_like(%a, fill_value=2, dtype=torch.bool)",
       {x},
       [](Tensors t) { return Tensors{at::full_like(t[0], 2, at::kBool)}; }},
      {"%a.new_zeros(2, 2)",
       {whole},
       [](Tensors t) {
         return Tensors{t[0].new_zeros({2, 2})};
       }},
      {"%a.new_zeros([2, 2])", {x}},
      {"%a.new_empty((2,))", {x}, [](Tensors t) { return Tensors{t[0].new_zeros({2})}; }},
      {"%a.new_ones((3,))", {whole}},
      {"%a.new_full([2], 5)", {whole}},
      {"%a.new_full((2,), 5, dtype=torch.float64)",
       {whole},
       [](Tensors t) { return Tensors{t[0].new_full({2}, 5, at::kDouble)}; }},
  });
}

TEST(Creation, TensorLiteralsEqualLibtorch) {
  expect_equal_to_libtorch({
      {"torch.tensor(3)", {}},
      {"torch.tensor(3.5)", {}},
      {"torch.tensor(True)", {}},
      {"torch.tensor([1, 2, 3])", {}},
      {"torch.tensor([[1.0, 2.0], [3.0, 4.5]])", {}},
      {"torch.tensor([True, False])", {}},
      {"torch.tensor([])", {}, [](Tensors) { return Tensors{at::empty({0})}; }},
      {"torch.tensor([1, 2.5])",
       {},
       [](Tensors) {
         return Tensors{at::tensor({1.0f, 2.5f})};
       }},
      {"torch.tensor([1, 2], dtype=torch.float64)",
       {},
       [](Tensors) {
         return Tensors{at::tensor({1.0, 2.0})};
       }},
      {"torch.tensor([9007199254740993])",
       {},
       [](Tensors) { return Tensors{at::tensor({int64_t{9007199254740993}})}; }},
      {"torch.tensor([%a, 2])",
       {at::full({}, 5, at::kLong)},
       [](Tensors) {
         return Tensors{at::tensor({int64_t{5}, int64_t{2}})};
       }},
      {"torch.as_tensor([1, 2], torch.int32)",
       {},
       [](Tensors) {
         return Tensors{at::tensor({1, 2}, at::kInt)};
       }},
      {"torch.as_tensor(%a)", {integers({2}, 0, 5)}, [](Tensors t) { return t; }},
  });
  EXPECT_TRUE(evaluate("torch.tensor([1.0], requires_grad=True)", {}).tensor().requires_grad());
  EXPECT_TRUE(evaluate("torch.zeros(2, requires_grad=True)", {}).tensor().requires_grad());
  EXPECT_EQ(error_of("torch.tensor([[1, 2], [3]])"),
            "PyTorch refused this: stack expects each tensor to be equal size, but got [2] at "
            "entry 0 and [1] at entry 1\n"
            "  in operator 'tensor' with data=list [[1, 2], [3]]");
}

TEST(Creation, RangesEqualLibtorch) {
  expect_equal_to_libtorch({
      {"torch.arange(5)", {}},
      {"torch.arange(2.5)", {}},
      {"torch.arange(2, 7)", {}},
      {"torch.arange(1, 2, 0.25)", {}},
      {"torch.arange(9, 0, -2)", {}},
      {"torch.arange(end=4)", {}, [](Tensors) { return Tensors{at::arange(4)}; }},
      {"torch.arange(%a)",
       {at::full({}, 3, at::kLong)},
       [](Tensors) { return Tensors{at::arange(3)}; }},
      {"torch.arange(0, 4, dtype=torch.float32, device=cpu)",
       {},
       [](Tensors) { return Tensors{at::arange(0, 4, at::kFloat)}; }},
      {"torch.linspace(0, 1, 5)", {}},
      {"torch.linspace(start=-1.0, end=1.0, steps=4, dtype=torch.float64)",
       {},
       [](Tensors) { return Tensors{at::linspace(-1.0, 1.0, 4, at::kDouble)}; }},
      {"torch.meshgrid(%a, %b)",
       {at::arange(2), at::arange(3)},
       [](Tensors t) { return at::meshgrid(t, "ij"); }},
      {"torch.meshgrid([%a, %b], indexing='xy')", {normal({2}), normal({3})}},
      {"torch.meshgrid(%a, %b, indexing='ij')",
       {normal({2}), normal({3})},
       [](Tensors t) { return at::meshgrid(t, "ij"); }},
  });
  expect_plain_results(
      {{"torch.meshgrid(%a)", "tuple (tensor([0, 1], dtype=torch.int64),)", {at::arange(2)}}});
}

TEST(Creation, MatricesEqualLibtorch) {
  const at::Tensor x = normal({2, 4, 4});
  expect_equal_to_libtorch({
      {"torch.eye(3)", {}},
      {"torch.eye(2, 3)", {}},
      {"torch.eye(n=2, dtype=torch.bool)",
       {},
       [](Tensors) { return Tensors{at::eye(2, at::kBool)}; }},
      {"torch.tril(%a)", {x}},
      {"torch.tril(%a, diagonal=-1)", {x}},
      {"%a.tril(1)", {x}},
      {"%a.tril_()", {x}},
      {"torch.triu(%a, 1)", {x}},
      {"%a.triu()", {x}},
      {"%a.triu_(diagonal=2)", {x}},
      {"torch.tril_indices(3, 4)", {}},
      {"torch.triu_indices(3, 3, 1)", {}},
      {"torch.triu_indices(row=3, col=3, offset=-1, dtype=torch.int32)",
       {},
       [](Tensors) { return Tensors{at::triu_indices(3, 3, -1, at::kInt)}; }},
      {"torch.nn.functional.one_hot(%a)",
       {integers({5}, 0, 3)},
       [](Tensors t) { return Tensors{at::one_hot(t[0])}; }},
      {"torch.nn.functional.one_hot(%a, num_classes=7)",
       {integers({5}, 0, 3)},
       [](Tensors t) { return Tensors{at::one_hot(t[0], 7)}; }},
  });
}

// The harness seeds the global generator before each side, so the draws must be the same.
TEST(Creation, RandomNumbersEqualLibtorch) {
  const at::Tensor x = positive({3, 4}) / 2;
  expect_equal_to_libtorch({
      {"torch.rand(2, 3)", {}},
      {"torch.rand((5,), dtype=torch.float64)",
       {},
       [](Tensors) { return Tensors{at::rand({5}, at::kDouble)}; }},
      {"torch.randn([2, 3])", {}},
      {"torch.rand_like(%a)", {x}},
      {"torch.randn_like(%a)", {x}},
      {"torch.bernoulli(%a)", {x}},
      {"torch.bernoulli(%a, 0.3)", {x}},
      {"%a.bernoulli()", {x}},
      {"%a.bernoulli(0.7)", {x}},
      {"%a.bernoulli_()", {x}},
      {"%a.bernoulli_(0.2)", {x}},
      {"%a.bernoulli_(%b)", {normal({3, 4}), x}, nullptr, false},
  });
}

}  // namespace
}  // namespace sparsebit::fx::test::creation_test
