#include "sparsebit/fx/ops/work_limit.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::fx::work_limit_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Args arguments(const char* spelling, const std::vector<Value>& values) {
  return bind_call(operators().get(spelling), values, {});
}

Value run(const char* spelling, const std::vector<Value>& values) {
  return run_kernel(*operators().get(spelling).op, arguments(spelling, values));
}

double macs(const char* spelling, const std::vector<Value>& values) {
  return most_macs(*operators().get(spelling).op, arguments(spelling, values));
}

TEST(MostMacs, OfLayersAndProducts) {
  const auto zeros = [](std::vector<int64_t> shape) { return Value(at::zeros(shape)); };
  EXPECT_EQ(macs("torch.conv2d", {zeros({1, 3, 8, 8}), zeros({16, 3, 3, 3})}), 8 * 8 * 3 * 16 * 9);
  EXPECT_EQ(macs("torch.conv2d", {zeros({1, 4, 8, 8}), zeros({4, 1, 3, 3})}), 8 * 8 * 4 * 9);
  EXPECT_EQ(macs("torch.nn.functional.linear", {zeros({2, 5, 7}), zeros({11, 7})}), 2 * 5 * 7 * 11);
  EXPECT_EQ(macs("torch.matmul", {zeros({3, 5, 7}), zeros({7, 11})}), 3 * 5 * 7 * 11);
  EXPECT_EQ(macs("torch.matmul", {zeros({5, 7}), zeros({3, 7, 11})}), 3 * 5 * 7 * 11);
  EXPECT_EQ(macs("torch.relu", {zeros({3, 5})}), 0);
}

TEST(WorkLimit, RefusesTheKernelThatExceedsIt) {
  const WorkLimit limit(1000);
  const Value x(at::zeros({400}));
  EXPECT_NO_THROW(run("torch.relu", {x}));
  EXPECT_NO_THROW(run("torch.relu", {x}));
  EXPECT_THAT([&] { run("torch.relu", {x}); },
              ThrowsMessage<Error>(HasSubstr(
                  "preparing the graph needs 400 operations; 200 of the limit of 1e+03 are left")));
}

TEST(WorkLimit, WhatWasRefusedDoesNotCount) {
  const WorkLimit limit(1000);
  EXPECT_THROW(run("torch.relu", {Value(at::zeros({5000}))}), Error);
  EXPECT_NO_THROW(run("torch.relu", {Value(at::zeros({400}))}));
}

TEST(WorkLimit, EndsWithItsScope) {
  const Value x(at::zeros({400}));
  {
    const WorkLimit limit(1000);
  }
  for (int i = 0; i < 10; ++i) EXPECT_NO_THROW(run("torch.relu", {x}));
}

TEST(WorkLimit, CountsProductsBeforeTheyAreComputed) {
  const WorkLimit limit(1e6);
  const Value x(at::zeros({1, 1, 1000, 100})), weight(at::zeros({1, 1, 100, 100}));
  EXPECT_THROW(run("torch.conv2d", {x, weight}), Error);
}

TEST(WorkLimit, InnerWorkCountsForTheOuterLimit) {
  const WorkLimit outer(1000, "MORE");
  const Value x(at::zeros({400}));
  for (int i = 0; i < 2; ++i) {
    const WorkLimit inner(500);
    run("torch.relu", {x});
  }
  EXPECT_THAT([&] { run("torch.relu", {x}); },
              ThrowsMessage<Error>(
                  HasSubstr("preparing the graph needs 400 operations; 200 of the limit")));
}

}  // namespace
}  // namespace sparsebit::fx::work_limit_test
