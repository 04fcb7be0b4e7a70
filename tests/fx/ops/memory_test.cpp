#include "fx/ops/op_case.h"

#include <gtest/gtest.h>

namespace sparsebit::fx::memory_test {

using test::normal;

/// evaluate() checks shared memory against the operator table.
void expect_memory_as_listed(const std::vector<std::string>& calls, const test::Tensors& inputs) {
  for (const std::string& call : calls) {
    SCOPED_TRACE(call);
    EXPECT_NO_THROW(test::evaluate(call, inputs));
  }
}

/// libtorch may return its input in these calls.
TEST(Memory, OfCallsThatChangeNothing) {
  expect_memory_as_listed({"torch.nn.functional.pad(%a, [0, 0])",
                           "torch.nn.functional.interpolate(%a, scale_factor=1)",
                           "torch.nn.functional.interpolate(%a, size=[3, 3], mode='bilinear')",
                           "torch.channel_shuffle(%a, 1)",
                           "torch.nn.functional.pixel_shuffle(%a, 1)",
                           "torch.nn.functional.pixel_unshuffle(%a, 1)",
                           "torch.nn.functional.adaptive_avg_pool2d(%a, [3, 3])",
                           "torch.nn.functional.adaptive_avg_pool2d(%a, [1, 1])",
                           "torch.nn.functional.avg_pool2d(%a, 1)",
                           "torch.nn.functional.max_pool2d(%a, 1)",
                           "torch.nn.functional.dropout(%a, 0.0, True)",
                           "torch.nn.functional.dropout(%a, 0.5, False)",
                           "torch.nn.functional.dropout2d(%a, 0.5, False)",
                           "torch.nn.functional.alpha_dropout(%a, 0.5, False)",
                           "torch.cat([%a])",
                           "torch.stack([%a])",
                           "torch.mean(%a, [])",
                           "torch.sum(%a, [], keepdim=True)",
                           "%a.to(torch.float32)",
                           "%a.float()",
                           "%a.contiguous()",
                           "%a.expand(1, 4, 3, 3)",
                           "%a.repeat(1, 1, 1, 1)",
                           "%a.clone()",
                           "torch.clamp(%a, -1000, 1000)",
                           "torch.roll(%a, 0, 0)",
                           "torch.flip(%a, [])",
                           "torch.rot90(%a, 0)",
                           "torch.tile(%a, [1])",
                           "torch.narrow(%a, 0, 0, 1)",
                           "torch.einsum('nchw->nchw', [%a])",
                           "torch.flatten(%a, 0, 0)",
                           "torch.mul(%a, 1)",
                           "torch.add(%a, 0)"},
                          {normal({1, 4, 3, 3})});
  expect_memory_as_listed(
      {"torch.tril(%a, 9)", "torch.triu(%a, -9)", "torch.diag(%a)", "torch.chunk(%a, 1)",
       "torch.split(%a, 3)", "torch.nan_to_num(%a)", "torch.cumsum(%a, 0)", "torch.round(%a)",
       "torch.movedim(%a, 0, 0)", "torch.einsum('ij->ij', [%a])", "torch.sort(%a)"},
      {normal({3, 3})});
  const at::Tensor row = normal({4});
  expect_memory_as_listed({"torch.meshgrid([%a])", "torch.broadcast_tensors(%a, %b)"}, {row, row});
}

}  // namespace sparsebit::fx::memory_test
