#include "fx/ops/op_case.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/functional/fold.h>

namespace sparsebit::fx::test::joining_test {
namespace {

namespace F = torch::nn::functional;

TEST(Joining, JoinsEqualLibtorch) {
  const at::Tensor x = normal({2, 3}), y = normal({2, 3});
  expect_equal_to_libtorch({
      {"torch.cat([%a, %b])", {x, y}},
      {"torch.cat((%a, %b), 1)", {x, y}},
      {"torch.cat([%a, %b], dim=-1)", {x, integers({2, 1}, 0, 5)}},
      {"torch.cat(tensors=[%a, %b], axis=1)",
       {x, y},
       [](Tensors t) { return Tensors{at::cat(t, 1)}; }},
      {"torch.concat([%a, %b], 1)", {x, y}},
      {"torch.concatenate([%a, %b])", {x, y}, [](Tensors t) { return Tensors{at::cat(t)}; }},
      {"torch.stack([%a, %b])", {x, y}},
      {"torch.stack((%a, %b), dim=-1)", {x, y}},
      {"torch.hstack([%a, %b])", {x, y}},
      {"torch.vstack((%a, %b))", {x, y}},
      {"torch.row_stack([%a, %b])", {x, y}},
  });
}

TEST(Joining, SplitsEqualLibtorch) {
  const at::Tensor x = normal({6, 4});
  const auto by_sizes = [](Tensors t) { return t[0].split_with_sizes({1, 3}, 1); };
  expect_equal_to_libtorch({
      {"torch.split(%a, 4)", {x}},
      {"torch.split(%a, [1, 5])", {x}},
      {"torch.split(%a, (1, 3), 1)", {x}, by_sizes},
      {"torch.split(%a, split_size_or_sections=[1, 3], dim=-1)", {x}, by_sizes},
      {"torch.split(tensor=%a, split_size_or_sections=3)",
       {x},
       [](Tensors t) { return t[0].split(3); }},
      {"%a.split(2, dim=1)", {x}},
      {"%a.split([1, 3], -1)", {x}},
      {"torch.chunk(%a, 4)", {x}},
      {"torch.chunk(%a, chunks=2, dim=-1)", {x}},
      {"%a.chunk(3, 1)", {x}},
      {"torch.tensor_split(%a, 4)", {x}},
      {"torch.tensor_split(%a, (1, 3), dim=1)", {x}},
      {"torch.tensor_split(%a, %b)", {x, at::tensor({2, 3}, at::kLong)}},
      {"%a.tensor_split(3, -1)", {x}},
      {"torch.unbind(%a)", {x}},
      {"torch.unbind(%a, dim=1)", {x}},
      {"torch.unbind(%a, -1)", {x}},
      {"%a.unbind()", {x}},
      {"%a.unbind(dim=-2)", {x}},
  });
}

TEST(Joining, SplitsAreTuples) {
  const at::Tensor x = at::arange(2);
  const std::string halves =
      "tuple (tensor([0], dtype=torch.int64), tensor([1], dtype=torch.int64))";
  expect_plain_results({
      {"torch.split(%a, 1)", halves, {x}},
      {"torch.chunk(%a, 2)", halves, {x}},
      {"torch.tensor_split(%a, 2)", halves, {x}},
      {"torch.unbind(%a)",
       "tuple (tensor(0, dtype=torch.int64), tensor(1, dtype=torch.int64))",
       {x}},
      {"torch.broadcast_tensors(%a)", "tuple (tensor([0, 1], dtype=torch.int64),)", {x}},
  });
}

TEST(Joining, RepetitionsEqualLibtorch) {
  const at::Tensor x = normal({3, 1}), four = at::full({}, 4, at::kLong);
  const auto to_3_4 = [](Tensors t) { return Tensors{t[0].expand({3, 4})}; };
  expect_equal_to_libtorch({
      {"%a.expand(3, 4)", {x}},
      {"%a.expand(-1, 4)", {x}},
      {"%a.expand((2, -1, 4))", {x}},
      {"%a.expand([2, 3, 1])", {x}},
      {"%a.expand(-1, %b)", {x, four}, to_3_4},
      {"%a.expand((3, %b))", {x, four}, to_3_4},
      {"%a.expand(size=(3, 4))", {x}},
      {"%a.expand_as(%b)", {x, normal({2, 3, 5})}},
      {"torch.broadcast_to(%a, (2, 3, 4))", {x}},
      {"torch.broadcast_to(%a, size=[3, 4])", {x}},
      {"%a.broadcast_to((3, 4))", {x}},
      {"torch.broadcast_tensors(%a, %b)",
       {x, normal({1, 4})},
       [](Tensors t) { return at::broadcast_tensors(t); }},
      {"torch.broadcast_tensors([%a, %b])", {x, normal({1, 4})}},
      {"%a.repeat(2, 3)", {x}},
      {"%a.repeat((2, 1, 3))", {x}},
      {"torch.tile(%a, (2, 2))", {x}},
      {"torch.tile(%a, dims=[2])", {x}},
      {"%a.tile(1, 3)", {x}},
      {"%a.tile((2,))", {x}},
  });
}

TEST(Joining, PatchesEqualLibtorch) {
  const at::Tensor image = normal({2, 3, 6, 6}), columns = normal({2, 12, 9});
  expect_equal_to_libtorch({
      {"torch.nn.functional.unfold(%a, 3)",
       {image},
       [](Tensors t) { return Tensors{F::unfold(t[0], F::UnfoldFuncOptions(3))}; }},
      {"torch.nn.functional.unfold(%a, (2, 3), dilation=2, padding=(1, 0), stride=2)",
       {image},
       [](Tensors t) {
         return Tensors{
             F::unfold(t[0], F::UnfoldFuncOptions({2, 3}).dilation(2).padding({1, 0}).stride(2))};
       }},
      {"torch.nn.functional.fold(%a, (6, 6), 2, stride=2)",
       {columns},
       [](Tensors t) {
         return Tensors{F::fold(t[0], F::FoldFuncOptions({6, 6}, 2).stride(2))};
       }},
      {"torch.nn.functional.fold(%a, output_size=4, kernel_size=(2, 2), dilation=1, padding=0)",
       {columns},
       [](Tensors t) {
         return Tensors{F::fold(t[0], F::FoldFuncOptions({4, 4}, {2, 2}))};
       }},
  });
}

TEST(Joining, WrongItemsAreNamed) {
  EXPECT_EQ(error_of("torch.cat([%a, 3])", {at::zeros({1})}),
            "wrong type; expected a tensor, found int 3\n  in argument 'tensors'\n"
            "  in operator 'cat' with tensors=list [tensor([0.0], dtype=torch.float32), 3]");
  EXPECT_EQ(error_of("%a.expand(2, 4)", {normal({3, 1})}),
            "PyTorch refused this: The expanded size of the tensor (2) must match the existing "
            "size (3) at non-singleton "
            "dimension 0.  Target sizes: [2, 4].  Tensor sizes: [3, 1]\n"
            "  in operator 'expand' with input=Tensor[3, 1] float32, size=list [2, 4]");
}

}  // namespace
}  // namespace sparsebit::fx::test::joining_test
