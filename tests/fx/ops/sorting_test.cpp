#include "fx/ops/op_case.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::fx::test::sorting_test {
namespace {

TEST(Sorting, OrdersEqualLibtorch) {
  const at::Tensor x = normal({3, 5});
  expect_equal_to_libtorch({
      {"torch.sort(%a)", {x}},
      {"torch.sort(%a, 0)", {x}},
      {"torch.sort(%a, dim=-1, descending=True)", {x}},
      {"torch.sort(%a, stable=True, dim=1)", {integers({3, 5}, 0, 3)}},
      {"%a.sort(1, True)", {x}},
      {"torch.argsort(%a)", {x}},
      {"torch.argsort(%a, 0, True)", {x}},
      {"torch.argsort(%a, stable=True, descending=True)", {integers({9}, 0, 3)}},
      {"%a.argsort(dim=-1)", {x}},
      {"torch.topk(%a, 2)", {x}},
      {"torch.topk(%a, k=2, dim=0, largest=False)", {x}},
      {"%a.topk(3, -1, True, True)", {x}},
      {"torch.median(%a)", {x}},
      {"torch.median(%a, 1)", {x}},
      {"torch.median(%a, dim=-1, keepdim=True)", {x}},
      {"%a.median()", {x}},
      {"%a.median(0)", {x}},
  });
}

TEST(Sorting, SearchesEqualLibtorch) {
  const at::Tensor edges = at::arange(0, 10, 2), x = integers({3, 4}, -2, 12);
  expect_equal_to_libtorch({
      {"torch.searchsorted(%a, %b)", {edges, x}},
      {"torch.searchsorted(%a, %b, right=True)", {edges, x}},
      {"torch.searchsorted(%a, %b, side='right', out_int32=True)", {edges, x}},
      {"torch.searchsorted(%a, 4)", {edges}},
      {"torch.searchsorted(%a, %b, sorter=%c)", {edges.flip(0), x, at::arange(4, -1, -1)}},
      {"torch.bucketize(%a, %b)", {x, edges}},
      {"torch.bucketize(%a, %b, right=True, out_int32=True)", {x, edges}},
      {"torch.bucketize(3, %a)", {edges}},
  });
}

TEST(Sorting, ResultsArePairs) {
  expect_plain_results({
      {"torch.topk(%a, 1)",
       "tuple (tensor([2], dtype=torch.int64), tensor([1], dtype=torch.int64))",
       {at::arange(1, 3)}},
  });
  EXPECT_EQ(error_of("torch.topk(%a, 3)", {normal({2})}),
            "PyTorch refused this: selected index k out of range\n  in operator 'topk' with "
            "input=Tensor[2] float32");
}

}  // namespace
}  // namespace sparsebit::fx::test::sorting_test
