#include "sparsebit/metrics/named_output.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::metrics::named_output_test {
namespace {

TEST(NamedOutput, PartsOfABatch) {
  const at::Tensor scores = at::arange(6, at::kFloat).reshape({2, 3});
  const auto parts = outputs_of_sample({{"scores", scores}}, 1, 2);
  EXPECT_TRUE(parts.at(0).tensor.equal(at::tensor({3.f, 4.f, 5.f}).reshape({1, 3})));
  EXPECT_TRUE(outputs_of_sample({{"boxes", scores}}, 0, 1).at(0).tensor.equal(scores));
  EXPECT_THAT(
      [&] {
        outputs_of_sample({{"boxes", scores}}, 0, 3);
      },
      testing::ThrowsMessage<Error>(
          "the output 'boxes' is [2, 3]; expected a first axis of size 3, one entry per sample"));
}

TEST(NamedOutput, Describes) {
  EXPECT_EQ(describe({{"a", at::zeros({1, 2})}, {"b", at::zeros({3})}}), "a [1, 2], b [3]");
}

}  // namespace
}  // namespace sparsebit::metrics::named_output_test
