#include "passes/pass_case.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::passes::recognize_attention_test {
namespace {

using test::model_of;
using test::random_input;
using test::run_and_compare;
using test::simplified;
using test::Tensors;
using testing::HasSubstr;
using testing::Not;

TEST(RecognizeAttention, WithScaleAndMask) {
  const auto attention = [](const std::string& scores) {
    return "%x = input()\n%mask = self.mask\n%k = torch.transpose(%x, -2, -1)\n" + scores +
           "%w = torch.nn.functional.softmax(%s, dim=-1)\n%y = torch.matmul(%w, %x)\nreturn %y";
  };
  const Tensors mask = {{"mask", at::randn({3, 3})}};
  const std::vector<int64_t> shape = {2, 3, 4};
  const auto found = [&](const std::string& scores) {
    return simplified("recognize_attention", attention(scores), {}, mask, shape);
  };
  const char* call = "scaled_dot_product_attention(%x, %transpose, %x, ";
  EXPECT_THAT(found("%s = torch.matmul(%x, %k)\n"),
              HasSubstr(call + std::string("attn_mask=None, scale=1.0)")));
  EXPECT_THAT(found("%q = torch.div(%x, 2.0)\n%s = torch.matmul(%q, %k)\n"),
              HasSubstr(call + std::string("attn_mask=None, scale=0.5)")));
  EXPECT_THAT(found("%q = torch.matmul(%x, %k)\n%s = torch.mul(%q, 0.5)\n"),
              HasSubstr(call + std::string("attn_mask=None, scale=0.5)")));
  EXPECT_THAT(found("%q = torch.matmul(%x, %k)\n%p = torch.mul(%q, 0.5)\n"
                    "%s = torch.add(%p, %mask)\n"),
              HasSubstr(call + std::string("attn_mask=%mask, scale=0.5)")));
}

TEST(RecognizeAttention, TransposesTwiceAndThenNotAtAll) {
  const auto module = model_of(R"(
      %x = input()
      %k = torch.permute(%x, [0, 2, 1])
      %s = torch.matmul(%x, %k)
      %w = torch.softmax(%s, -1)
      %y = torch.matmul(%w, %x)
      return %y)");
  const std::vector<fx::Value> inputs = {random_input({2, 3, 4})};
  EXPECT_EQ(run_and_compare(*module, {"recognize_attention", "merge_transposes"}, inputs),
            "%x = input()\n%scaled_dot_product_attention = "
            "torch.nn.functional.scaled_dot_product_attention(%x, %x, %x, attn_mask=None, "
            "scale=1.0)\nreturn %scaled_dot_product_attention\n");
}

// Pooling by a vector of weights is not attention.
TEST(RecognizeAttention, AVectorIsNoKey) {
  EXPECT_THAT(simplified("recognize_attention", R"(
      %x = input()
      %w = self.w
      %s = torch.matmul(%x, %w)
      %p = torch.softmax(%s, -1)
      %y = torch.matmul(%p, %x)
      return %y)",
                         {}, {{"w", at::randn({4})}}, {3, 4}),
              Not(HasSubstr("attention")));
}

}  // namespace
}  // namespace sparsebit::passes::recognize_attention_test
