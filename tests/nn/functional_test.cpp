#include "sparsebit/nn/functional.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::nn::functional_test {
namespace {

void expect_equal(const Value& ours, const at::Tensor& expected) {
  EXPECT_TRUE(at::equal(ours.tensor(), expected)) << ours.tensor() << expected;
}

TEST(Functional, FunctionsComputeWithTensors) {
  const at::Tensor x = at::randn({2, 3, 4, 4}), w = at::randn({5, 4}), m = at::randn({2, 3, 4, 4});
  expect_equal(nn::relu(x), at::relu(x));
  expect_equal(nn::gelu(x, {{"approximate", "tanh"}}), at::gelu(x, "tanh"));
  expect_equal(nn::silu(x), at::silu(x));
  expect_equal(nn::softmax(x, 1), at::softmax(x, 1));
  expect_equal(nn::dropout(x, 0.5, false), x);
  expect_equal(nn::interpolate(x, {{"size", 8}}), at::upsample_nearest2d(x, {8, 8}));
  expect_equal(nn::pad(x, {1, 2}), at::constant_pad_nd(x, {1, 2}));
  expect_equal(nn::adaptive_avg_pool2d(x, 1), at::adaptive_avg_pool2d(x, {1, 1}));
  expect_equal(nn::max_pool2d(x, 2, {{"stride", 1}}), at::max_pool2d(x, 2, 1));
  expect_equal(nn::linear(x, w), at::linear(x, w));
  expect_equal(nn::layer_norm(x, List{4, 4}), at::layer_norm(x, {4, 4}));
  expect_equal(nn::cat({x, m}, 1), at::cat({x, m}, 1));
  expect_equal(nn::stack({x, m}, 1), at::stack({x, m}, 1));
  expect_equal(nn::flatten(x, 1), x.flatten(1));
  expect_equal(nn::arange(5), at::arange(5));
  expect_equal(nn::where(x > 0, x, m), at::where(x > 0, x, m));
}

TEST(Functional, MethodsComputeWithTensors) {
  const at::Tensor x = at::randn({2, 3, 4});
  expect_equal(nn::view(x, {size(x, 0), -1}), x.view({2, 12}));
  expect_equal(nn::reshape(x, {4, 6}), x.reshape({4, 6}));
  expect_equal(nn::permute(x, {2, 0, 1}), x.permute({2, 0, 1}));
  expect_equal(nn::transpose(x, 0, 2), x.transpose(0, 2));
  expect_equal(nn::contiguous(nn::transpose(x, 0, 2)), x.transpose(0, 2).contiguous());
  expect_equal(nn::expand(nn::unsqueeze(x, 0), {5, -1, -1, -1}),
               x.unsqueeze(0).expand({5, 2, 3, 4}));
  expect_equal(nn::squeeze(nn::unsqueeze(x, 1), 1), x);
  expect_equal(getitem(nn::split(x, 2, 2), 1), x.split(2, 2)[1]);
  expect_equal(getitem(nn::chunk(x, 2, 2), 0), x.chunk(2, 2)[0]);
  expect_equal(getitem(nn::unbind(x, 1), -1), x.unbind(1)[2]);
  expect_equal(nn::mean(x, {0, 2}, true), x.mean(at::IntArrayRef({0, 2}), true));
  expect_equal(masked_fill(x, x > 0, -1.0), x.masked_fill(x > 0, -1.0));
}

TEST(Functional, OperatorsFollowPython) {
  const at::Tensor x = at::ones({2});
  expect_equal(Value(x) + 1, x + 1);
  expect_equal(1.0 - Value(x), 1 - x);
  expect_equal(Value(x) * 2, x * 2);
  expect_equal(Value(x) / 4, x / 4);
  expect_equal(-Value(x), -x);
  EXPECT_EQ(Value(7) + 1, Value(8));
  EXPECT_EQ(Value(7) / 2, Value(3.5));
  EXPECT_EQ(floordiv(-7, 2), Value(-4));
  EXPECT_EQ(Value(-7) % 3, Value(2));
  EXPECT_EQ(shape(x), Value(Tuple{2}));
  expect_equal(nn::matmul(x, x), at::matmul(x, x));
}

}  // namespace
}  // namespace sparsebit::nn::functional_test
