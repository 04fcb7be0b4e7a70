#include "passes/simplify/result_size.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::passes::result_size_test {
namespace {

double bound(const char* spelling, const std::vector<fx::Value>& args,
             const fx::Kwargs& kwargs = {}) {
  const fx::Spelling& found = fx::operators().get(spelling);
  return most_numbers({found.op, fx::bind_call(found, args, kwargs)});
}

/// A tensor that only says how large it is.
at::Tensor sized(const std::vector<int64_t>& shape, at::ScalarType type = at::kFloat) {
  return at::zeros({1}, type).expand(shape);
}

constexpr double kHuge = 1e8;

TEST(ResultSize, SmallArgumentsWithHugeResults) {
  EXPECT_GE(bound("torch.add", {sized({16000, 1}), sized({1, 16000})}), kHuge);
  EXPECT_GE(bound("torch.matmul", {sized({16000, 1}), sized({1, 16000})}), kHuge);
  EXPECT_GE(bound("torch.ones", {100000, 100000}), kHuge);
  EXPECT_GE(bound("torch.full", {fx::List({100000, 100000}), 0.5}), kHuge);
  EXPECT_GE(bound("torch.arange", {0., 3e8, 1.}), kHuge);
  EXPECT_GE(
      bound("onnx.Range", {at::scalar_tensor(0.), at::scalar_tensor(3e8), at::scalar_tensor(1.)}),
      kHuge);
  EXPECT_GE(bound("onnx.Expand", {sized({1}), at::tensor({100000, 100000}, at::kLong)}), kHuge);
  EXPECT_GE(bound("onnx.Tile", {sized({10, 10}), at::tensor({10000, 10000}, at::kLong)}), kHuge);
  EXPECT_GE(bound("onnx.ConstantOfShape", {at::tensor({100000, 100000}, at::kLong), sized({1})}),
            kHuge);
  EXPECT_GE(bound("torch.meshgrid", {sized({16000}), sized({16000})}), kHuge);
  EXPECT_GE(bound("torch.nn.functional.one_hot", {sized({100000}, at::kLong), 100000}), kHuge);
  EXPECT_GE(bound("Tensor.repeat", {sized({4}), 100000, 100000}), kHuge);
}

TEST(ResultSize, OrdinaryCallsAreNotRefused) {
  constexpr double kOrdinary = 1 << 24;
  EXPECT_LE(bound("torch.add", {sized({1000, 1000}), sized({1000, 1000})}), 1e6);
  EXPECT_LE(bound("torch.mul", {sized({1000, 1000}), -3.4e38}), 1e6);
  EXPECT_LE(bound("torch.transpose", {sized({1000, 1000}), 0, 1}), 1e6);
  EXPECT_LE(bound("torch.cat", {fx::List({sized({1000, 1000}), sized({1000, 1000})})}), 2e6);
  EXPECT_LE(bound("torch.nn.functional.embedding", {sized({1, 512}, at::kLong), sized({512, 768})}),
            kOrdinary);
  EXPECT_LE(bound("torch.full", {fx::List({128, 128}), -65504}), kOrdinary);
  EXPECT_LE(bound("torch.triu", {sized({512, 512}), 1}), kOrdinary);
  EXPECT_LE(bound("operator.mul", {1 << 20, 1 << 20}), 1);
}

}  // namespace
}  // namespace sparsebit::passes::result_size_test
