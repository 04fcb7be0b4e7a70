#include "fx/ops/op_case.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sparsebit::fx::test::indexing_test {
namespace {

TEST(Indexing, LookupsEqualLibtorch) {
  const at::Tensor x = normal({3, 5}), index = integers({4}, 0, 3), places = integers({3, 2}, 0, 5);
  expect_equal_to_libtorch({
      {"torch.index_select(%a, 0, %b)", {x, index}},
      {"torch.index_select(%a, dim=-1, index=%b)", {x, index}},
      {"%a.index_select(1, %b)", {x, index}},
      {"torch.gather(%a, 1, %b)", {x, places}},
      {"%a.gather(-1, %b)", {x, places}},
      {"torch.take_along_dim(%a, %b, 1)", {x, places}},
      {"%a.take_along_dim(%b, dim=1)", {x, places}},
      {"torch.take_along_dim(%a, %b)", {x, places}},
      {"torch.take(%a, %b)", {x, integers({2, 2}, 0, 15)}},
      {"%a.take(%b)", {x, index}},
      {"torch.masked_select(%a, %b)", {x, booleans({3, 5})}},
      {"%a.masked_select(%b)", {x, booleans({5})}},
      {"torch.nonzero(%a)", {booleans({3, 4})}},
      {"%a.nonzero()", {integers({5}, 0, 2)}},
      {"torch.nonzero(%a, as_tuple=True)",
       {booleans({3, 4})},
       [](Tensors t) { return at::where(t[0]); }},
      {"torch.repeat_interleave(%a, 2)", {x}},
      {"torch.repeat_interleave(%a, 2, 1)", {x}},
      {"torch.repeat_interleave(%a, %b, dim=0)", {x, integers({3}, 0, 3)}},
      {"torch.repeat_interleave(%a)", {integers({3}, 0, 3)}},
      {"%a.repeat_interleave(repeats=3, dim=-1)", {x}},
  });
}

TEST(Indexing, WritesEqualLibtorch) {
  const at::Tensor x = normal({3, 5}),
                   places = at::tensor({0, 2, 1, 4, 3, 0}, at::kLong).view({3, 2});
  const at::Tensor src = normal({3, 2}), rows = at::tensor({2, 0}, at::kLong), two = normal({2, 5});
  const auto put = [](Tensors t) { return Tensors{at::index_put(t[0], {t[1]}, t[2])}; };
  const auto put_inplace = [](Tensors t) { return Tensors{at::index_put_(t[0], {t[1]}, t[2])}; };
  expect_equal_to_libtorch({
      {"torch.scatter(%a, 1, %b, %c)", {x, places, src}},
      {"torch.scatter(%a, 1, %b, 2.5)", {x, places}},
      {"torch.scatter(%a, dim=1, index=%b, value=3)", {x, places}},
      {"%a.scatter(-1, %b, src=%c)", {x, places, src}},
      {"%a.scatter_(1, %b, %c)", {x, places, src}},
      {"%a.scatter_(1, %b, 1.0)", {x, places}},
      {"torch.scatter_add(%a, 1, %b, %c)", {x, places, src}},
      {"%a.scatter_add(1, %b, %c)", {x, places, src}},
      {"%a.scatter_add_(dim=1, index=%b, src=%c)", {x, places, src}},
      {"torch.index_add(%a, 0, %b, %c)", {x, rows, two}},
      {"torch.index_add(%a, 0, %b, %c, alpha=2)", {x, rows, two}},
      {"%a.index_add(0, %b, %c)", {x, rows, two}},
      {"%a.index_add_(0, %b, %c, alpha=-1)", {x, rows, two}},
      {"torch.index_put(%a, (%b,), %c)", {x, rows, two}, put},
      {"%a.index_put([%b], %c)", {x, rows, two}, put},
      {"torch.index_put_(%a, [%b], %c)", {x, rows, two}, put_inplace},
      {"%a.index_put_((%b,), %c)", {x, rows, two}, put_inplace},
      {"%a.index_put((None, %b), %c, accumulate=True)",
       {x, rows, normal({3, 2})},
       [](Tensors t) { return Tensors{at::index_add(t[0], 1, t[1], t[2])}; }},
      {"torch.masked_fill(%a, %b, -1e9)", {x, booleans({3, 5})}},
      {"torch.masked_fill(%a, %b, %c)", {x, booleans({5}), normal({})}},
      {"%a.masked_fill(%b, value=0)", {x, booleans({3, 1})}},
      {"%a.masked_fill(%b, -inf)",
       {x, booleans({3, 1})},
       [](Tensors t) { return Tensors{at::masked_fill(t[0], t[1], -INFINITY)}; }},
      {"%a.masked_fill_(%b, 2.0)", {x, booleans({3, 5})}},
      {"%a.masked_fill_(%b, %c)", {x, booleans({3, 5}), normal({})}},
  });
}

TEST(Indexing, WindowsEqualLibtorch) {
  const at::Tensor x = normal({3, 8});
  expect_equal_to_libtorch({
      {"torch.narrow(%a, 1, 2, 3)", {x}},
      {"torch.narrow(%a, 1, %b, 3)",
       {x, at::full({}, 2, at::kLong)},
       [](Tensors t) { return Tensors{t[0].narrow(1, 2, 3)}; }},
      {"%a.narrow(dim=-1, start=-4, length=2)", {x}},
      {"torch.select(%a, 0, 1)", {x}},
      {"%a.select(dim=1, index=-1)", {x}},
      {"%a.unfold(1, 3, 2)", {x}},
      {"%a.unfold(dimension=-1, size=2, step=1)", {x}},
  });
  EXPECT_EQ(error_of("torch.narrow(%a, 0, 2, 3)", {x}),
            "PyTorch refused this: start (2) + length (3) exceeds dimension size (3).\n"
            "  in operator 'narrow' with input=Tensor[3, 8] float32");
}

TEST(Indexing, WrongArgumentIsNamed) {
  EXPECT_EQ(error_of("torch.gather(%a, 1, 2)", {normal({2, 2})}),
            "wrong type; expected a tensor, found int 2\n  in argument 'index'\n"
            "  in operator 'gather' with input=Tensor[2, 2] float32");
}

}  // namespace
}  // namespace sparsebit::fx::test::indexing_test
