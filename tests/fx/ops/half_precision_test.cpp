#include "sparsebit/fx/ops/operator.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sparsebit::fx::half_precision_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Value call(const char* spelling, const std::vector<Value>& args, const Kwargs& kwargs = {}) {
  const Spelling& form = operators().get(spelling);
  return run_kernel(*form.op, bind_call(form, args, kwargs));
}

at::Tensor random_half(at::IntArrayRef sizes) { return at::randn(sizes).to(at::kHalf); }

TEST(HalfPrecision, IsComputedInFloat32AndRounded) {
  const at::Tensor x = random_half({1, 3, 8, 8}), w = random_half({4, 3, 3, 3});
  const at::Tensor y = call("torch.nn.functional.conv2d", {x, w}).tensor();
  EXPECT_EQ(y.scalar_type(), at::kHalf);
  EXPECT_TRUE(y.equal(at::conv2d(x.to(at::kFloat), w.to(at::kFloat)).to(at::kHalf)));
}

TEST(HalfPrecision, InPlaceFormsWriteTheirInput) {
  const at::Tensor x = random_half({16}), expected = at::elu(x.to(at::kFloat)).to(at::kHalf);
  const at::Tensor y = call("torch.nn.functional.elu", {x}, {{"inplace", true}}).tensor();
  EXPECT_TRUE(y.is_same(x));
  EXPECT_TRUE(x.equal(expected));
}

TEST(HalfPrecision, StatisticsAreUpdatedInTraining) {
  const at::Tensor x = random_half({8, 2, 4}), mean = at::zeros(2, at::kHalf),
                   var = at::ones(2, at::kHalf);
  call("torch.nn.functional.batch_norm", {x, mean, var}, {{"training", true}, {"momentum", 1.0}});
  EXPECT_TRUE(
      at::allclose(mean.to(at::kFloat), x.to(at::kFloat).mean(at::IntArrayRef{0, 2}), 1e-2, 1e-3));
  EXPECT_FALSE(var.equal(at::ones(2, at::kHalf)));
}

TEST(HalfPrecision, ABatchIsCountedOnce) {
  const at::Tensor x = random_half({8, 2, 4}), batches = at::zeros({}, at::kLong);
  call("torch.nn.functional.batch_norm", {x, at::zeros(2, at::kHalf), at::ones(2, at::kHalf)},
       {{"training", true}, {"num_batches_tracked", batches}});
  EXPECT_EQ(batches.item<int64_t>(), 1);
}

TEST(HalfPrecision, InputsThatAreOnlyReadAreNotWritten) {
  const at::Tensor nan = at::full({1, 1}, NAN, at::kHalf).expand({2, 2});
  // A write to the expanded tensor would throw.
  const at::Tensor y = call("torch.matmul", {nan, nan}).tensor();
  EXPECT_TRUE(y.isnan().all().item<bool>());
}

TEST(HalfPrecision, GradientsFlow) {
  const at::Tensor x = random_half({1, 3, 8, 8});
  const at::Tensor w = random_half({4, 3, 3, 3}).requires_grad_();
  call("torch.nn.functional.conv2d", {x, w}).tensor().sum().backward();
  ASSERT_TRUE(w.grad().defined());
  EXPECT_EQ(w.grad().scalar_type(), at::kHalf);
}

TEST(HalfPrecision, ATypeThatWasAskedForStays) {
  const at::Tensor y =
      call("torch.nn.functional.softmax", {random_half({2, 5}), 1}, {{"dtype", at::kFloat}})
          .tensor();
  EXPECT_EQ(y.scalar_type(), at::kFloat);
  const at::Tensor z =
      call("torch.nn.functional.softmax", {random_half({2, 5}), 1}, {{"dtype", at::kHalf}})
          .tensor();
  EXPECT_EQ(z.scalar_type(), at::kHalf);
}

TEST(HalfPrecision, OtherTypesThatLibtorchMissesAreErrors) {
  const at::Tensor x = at::ones({1, 1, 4, 4}, at::kBool);
  EXPECT_THAT(
      [&] {
        call("torch.nn.functional.avg_pool2d", {x, 2});
      },
      ThrowsMessage<Error>(HasSubstr("not implemented for 'Bool'")));
}

}  // namespace
}  // namespace sparsebit::fx::half_precision_test
