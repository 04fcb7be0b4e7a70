#include "sparsebit/fx/ops/result_size.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::fx::result_size_test {
namespace {

double bound(const char* spelling, const std::vector<Value>& args, const Kwargs& kwargs = {}) {
  const Spelling& found = operators().get(spelling);
  return most_elements(*found.op, bind_call(found, args, kwargs));
}

/// A tensor of this shape that takes the memory of one element.
at::Tensor sized(const std::vector<int64_t>& shape, at::ScalarType type = at::kFloat) {
  return at::zeros({1}, type).expand(shape);
}

at::Tensor longs(const std::vector<int64_t>& numbers) { return at::tensor(numbers, at::kLong); }

// Each of these would return 2e8 elements or more.
TEST(ResultSize, SmallArgumentsWithHugeResults) {
  constexpr double kHuge = 2e8;
  EXPECT_GE(bound("torch.add", {sized({16000, 1}), sized({1, 16000})}), kHuge);
  EXPECT_GE(bound("torch.matmul", {sized({16000, 1}), sized({1, 16000})}), kHuge);
  EXPECT_GE(bound("torch.nn.functional.linear", {sized({16000, 1}), sized({16000, 1})}), kHuge);
  EXPECT_GE(bound("torch.ones", {100000, 100000}), kHuge);
  EXPECT_GE(bound("torch.full", {List({100000, 100000}), 0.5}), kHuge);
  EXPECT_GE(bound("torch.arange", {0., 3e8, 1.}), kHuge);
  EXPECT_GE(bound("torch.arange", {0., 1e4, 1e-5}), kHuge);
  EXPECT_GE(
      bound("onnx.Range", {at::scalar_tensor(0.), at::scalar_tensor(3e8), at::scalar_tensor(1.)}),
      kHuge);
  EXPECT_GE(bound("onnx.Expand", {sized({1}), longs({100000, 100000})}), kHuge);
  EXPECT_GE(bound("onnx.Tile", {sized({10, 10}), longs({10000, 10000})}), kHuge);
  EXPECT_GE(bound("onnx.ConstantOfShape", {longs({100000, 100000}), sized({1})}), kHuge);
  EXPECT_GE(bound("torch.meshgrid", {sized({16000}), sized({16000})}), kHuge);
  EXPECT_GE(bound("torch.diag", {sized({16000})}), kHuge);
  EXPECT_GE(bound("torch.nn.functional.one_hot", {sized({100000}, at::kLong), 100000}), kHuge);
  EXPECT_GE(bound("torch.nn.functional.one_hot", {at::full({17}, 100000000, at::kLong)}), kHuge);
  EXPECT_GE(bound("Tensor.repeat", {sized({4}), 100000, 100000}), kHuge);
  EXPECT_GE(bound("torch.nn.functional.pad", {sized({1000, 1}), List({0, 1000000})}), kHuge);
  EXPECT_GE(bound("operator.getitem", {sized({2, 100000}), sized({10000}, at::kLong)}), kHuge);
  EXPECT_GE(bound("torch.nn.functional.adaptive_avg_pool2d", {sized({1, 1, 1, 1}), 30000}), kHuge);
  EXPECT_GE(bound("operator.mul", {List({0, 0}), 200000000}), kHuge);
}

/// Transposing a classifier's weight must not count as too large.
TEST(ResultSize, ViewsHaveNoMoreElements) {
  EXPECT_LE(bound("torch.t", {sized({1000, 1280})}), 2 * 1280000);
  EXPECT_GE(bound("Tensor.expand_as", {sized({1000, 1}), sized({1, 1280})}), 1280000);
}

TEST(ResultSize, OrdinaryCallsStayOrdinary) {
  constexpr double kOrdinary = 1 << 24;
  const at::Tensor weight = sized({768, 256}), shape = longs({1, 512, 1024, 1024});
  EXPECT_LE(bound("torch.add", {weight, weight}), kOrdinary);
  EXPECT_LE(bound("torch.mul", {weight, -3.4e38}), kOrdinary);
  EXPECT_LE(bound("torch.transpose", {weight, 0, 1}), kOrdinary);
  EXPECT_LE(bound("torch.cat", {List({weight, weight})}), kOrdinary);
  EXPECT_LE(bound("torch.nn.functional.embedding", {sized({1, 512}, at::kLong), sized({512, 768})}),
            kOrdinary);
  EXPECT_LE(bound("torch.full", {List({128, 128}), -65504}), kOrdinary);
  EXPECT_LE(bound("torch.triu", {sized({512, 512}), 1}), kOrdinary);
  EXPECT_LE(bound("Tensor.view", {sized({16384}), 128, 128}), kOrdinary);
  EXPECT_LE(bound("torch.narrow", {weight, 0, 0, 256}), kOrdinary);
  EXPECT_LE(bound("torch.split", {weight, 256}), kOrdinary);
  EXPECT_LE(bound("torch.unflatten", {sized({65536}), 0, List({256, 256})}), kOrdinary);
  EXPECT_LE(bound("onnx.Slice", {longs({1, 2, 3, 4, 5}), longs({1}), longs({INT64_MAX})}),
            kOrdinary);
  EXPECT_LE(bound("Tensor.to", {shape, at::kInt}), kOrdinary);
  EXPECT_LE(bound("torch.prod", {shape}), kOrdinary);
  EXPECT_LE(bound("onnx.Gather", {shape, longs({3})}), kOrdinary);
  EXPECT_LE(bound("operator.mul", {1 << 20, 1 << 20}), 1);
}

TEST(ResultSize, AViewWithMoreElementsThanMemoryIsRefused) {
  const Spelling& expand = operators().get("Tensor.expand");
  const std::vector<Value> values = {Value(at::zeros({1})),
                                     Value(std::vector<int64_t>{int64_t{1} << 42})};
  const Args args = bind_call(expand, values, {});
  EXPECT_THAT([&] { run_kernel(*expand.op, args); },
              testing::ThrowsMessage<Error>(
                  testing::HasSubstr("has 4.398e+12 elements, 17.6 TB; the limit is")));
}

}  // namespace
}  // namespace sparsebit::fx::result_size_test
