#include "fx/ops/op_case.h"

#include "sparsebit/fx/ops/operator.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::fx::test::shape_test {
namespace {

TEST(Shape, ReshapesEqualLibtorch) {
  const at::Tensor x = normal({2, 3, 4}), thin = normal({2, 1, 3, 1});
  const at::Tensor six = at::full({}, 6, at::kLong);
  expect_equal_to_libtorch({
      {"%a.view(6, -1)", {x}},
      {"%a.view((2, 12))", {x}},
      {"%a.view([24])", {x}},
      {"%a.view(-1)", {x}},
      {"%a.view(%b, 4)",
       {x, six},
       [](Tensors t) {
         return Tensors{t[0].view({6, 4})};
       }},
      {"%a.view(torch.int32)", {x}, [](Tensors t) { return Tensors{t[0].view(at::kInt)}; }},
      {"%a.view_as(%b)", {x, normal({4, 6})}},
      {"torch.reshape(%a, (4, 6))", {x}},
      {"torch.reshape(%a, [-1, 4])", {x}},
      {"torch.reshape(%a, shape=(3, -1))", {x}},
      {"%a.reshape(4, 6)", {x}},
      {"%a.reshape((4, -1))", {x}},
      {"%a.reshape(-1)", {x.transpose(0, 2)}},
      {"%a.reshape_as(%b)", {x, normal({6, 4})}},
      {"torch.flatten(%a)", {x}},
      {"torch.flatten(%a, 1)", {x}},
      {"torch.flatten(%a, start_dim=0, end_dim=1)", {x}},
      {"%a.flatten(-2)", {x}},
      {"torch.unflatten(%a, 2, (2, 2))",
       {x},
       [](Tensors t) {
         return Tensors{t[0].view({2, 3, 2, 2})};
       }},
      {"%a.unflatten(dim=-1, sizes=[2, -1])",
       {x},
       [](Tensors t) {
         return Tensors{t[0].view({2, 3, 2, 2})};
       }},
      {"torch.ravel(%a)", {x}},
      {"%a.ravel()", {x.transpose(0, 1)}},
      {"torch.squeeze(%a)", {thin}},
      {"torch.squeeze(%a, 1)", {thin}},
      {"torch.squeeze(%a, 0)", {thin}},
      {"%a.squeeze(dim=-1)", {thin}},
      {"%a.squeeze_()", {thin}},
      {"%a.squeeze_(1)", {thin}},
      {"torch.unsqueeze(%a, 0)", {x}},
      {"torch.unsqueeze(%a, dim=-1)", {x}},
      {"%a.unsqueeze(1)", {x}},
      {"%a.unsqueeze_(-2)", {x}},
  });
}

TEST(Shape, PermutationsEqualLibtorch) {
  const at::Tensor x = normal({2, 3, 4}), matrix = normal({2, 3});
  expect_equal_to_libtorch({
      {"torch.transpose(%a, 0, 1)", {x}},
      {"torch.transpose(%a, dim0=-1, dim1=0)", {x}},
      {"torch.swapaxes(%a, 0, 2)", {x}},
      {"torch.swapaxes(%a, axis0=0, axis1=1)", {x}},
      {"torch.swapdims(%a, 0, 2)", {x}},
      {"%a.transpose(1, 2)", {x}},
      {"%a.swapaxes(-1, -2)", {x}},
      {"%a.swapdims(0, 1)", {x}},
      {"%a.transpose_(0, 1)", {x}},
      {"torch.t(%a)", {matrix}},
      {"%a.t()", {matrix}},
      {"torch.permute(%a, (2, 0, 1))", {x}},
      {"torch.permute(%a, dims=[0, -1, 1])", {x}},
      {"%a.permute(2, 0, 1)", {x}},
      {"%a.permute((2, 0, 1))", {x}},
      {"%a.permute([-1, 0, 1])", {x}},
      {"torch.movedim(%a, 0, -1)", {x}},
      {"torch.movedim(%a, (0, 1), (2, 0))", {x}},
      {"torch.moveaxis(%a, 0, 1)", {x}},
      {"%a.movedim(source=0, destination=2)", {x}},
      {"%a.moveaxis(2, 0)", {x}},
  });
}

TEST(Shape, RearrangementsEqualLibtorch) {
  const at::Tensor x = normal({2, 3, 4}), image = normal({1, 6, 2, 2});
  expect_equal_to_libtorch({
      {"torch.roll(%a, 1)", {x}},
      {"torch.roll(%a, (1, -1), (0, 2))", {x}},
      {"torch.roll(%a, shifts=2, dims=-1)", {x}},
      {"%a.roll(1, 1)", {x}},
      {"torch.flip(%a, (0, 2))", {x}},
      {"torch.flip(%a, dims=[-1])", {x}},
      {"%a.flip(0, 1)", {x}},
      {"torch.fliplr(%a)", {x}},
      {"%a.fliplr()", {x}},
      {"torch.flipud(%a)", {x}},
      {"%a.flipud()", {x}},
      {"torch.rot90(%a)", {x}},
      {"torch.rot90(%a, k=2, dims=[1, 2])", {x}},
      {"%a.rot90(-1, (0, 2))", {x}},
      {"torch.channel_shuffle(%a, 3)", {image}, nullptr, false},
      {"torch.nn.functional.channel_shuffle(%a, groups=2)",
       {image},
       [](Tensors t) {
         return Tensors{t[0].view({1, 2, 3, 2, 2}).transpose(1, 2).reshape({1, 6, 2, 2})};
       }},
      {"torch.diagonal(%a)", {x}},
      {"torch.diagonal(%a, 1, -2, -1)", {x}},
      {"%a.diagonal(offset=-1, dim1=0, dim2=2)", {x}},
      {"torch.diag(%a)", {normal({3})}},
      {"torch.diag(%a, diagonal=1)", {normal({3, 3})}},
      {"%a.diag(-1)", {normal({3})}},
      {"torch.diag_embed(%a)", {x}},
      {"torch.diag_embed(%a, offset=1, dim1=0, dim2=2)", {x}},
      {"%a.diag_embed()", {x}},
  });
}

TEST(Shape, ErrorsTellTheShapes) {
  EXPECT_EQ(error_of("torch.channel_shuffle(%a, 4)", {normal({1, 6, 2})}),
            "the channels of an input of 3 or more dims must be divisible by groups=4\n"
            "  in operator 'channel_shuffle' with input=Tensor[1, 6, 2] float32");
  EXPECT_EQ(error_of("%a.view(5, -1)", {normal({2, 3})}),
            "shape '[5, -1]' is invalid for input of size 6\n"
            "  in operator 'view' with input=Tensor[2, 3] float32, shape=list [5, -1]");
  EXPECT_EQ(error_of("%a.permute(0, 'x')", {normal({2, 3})}),
            "wrong type; expected an int, found str 'x'\n  in argument 'dims'\n"
            "  in operator 'permute' with input=Tensor[2, 3] float32, dims=list [0, 'x']");
}

TEST(Shape, IdentityTakesAnythingAndReturnsItsInput) {
  const Spelling& identity = operators().get("torch.nn.Identity");
  const Value arguments[] = {54, "unused"};
  identity.module->constructor.bind(arguments, {{"remove", false}});
  const at::Tensor x = normal({2});
  EXPECT_TRUE(run_kernel(*identity.op, Args(identity.op->schema, {x})).tensor().is_same(x));
}

}  // namespace
}  // namespace sparsebit::fx::test::shape_test
