#include "sparsebit/data/random_data.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::data::random_data_test {
namespace {

InputSpec spec(const std::string& name, std::vector<int64_t> shape, at::ScalarType type) {
  return {name, fx::TensorInfo{std::move(shape), type}};
}

TEST(RandomData, ImagesInTheNormalizedRange) {
  const ModelFacts facts{.inputs = {spec("x", {-1, 3, 64, 64}, at::kFloat)},
                         .outputs = {{"y", {-1, 1000}}}};
  const ModelData data = random_data(facts, 4, 7);
  const at::Tensor x = data.batch({0, 1, 2, 3}).inputs.at(0);
  EXPECT_EQ(x.sizes(), at::IntArrayRef({4, 3, 64, 64}));
  EXPECT_LT(x.min().item<double>(), -1);
  EXPECT_GT(x.max().item<double>(), 1);
  EXPECT_LT(x.abs().max().item<double>(), 3);
  EXPECT_FALSE(x[0].equal(x[1]));
  EXPECT_TRUE(random_data(facts, 9, 7).batch({1}).inputs.at(0)[0].equal(x[1]));  // depends on seed
                                                                                 // and index only
  EXPECT_FALSE(random_data(facts, 4, 8).batch({1}).inputs.at(0)[0].equal(x[1]));
}

TEST(RandomData, TokensAreRowsOfTheirTables) {
  ModelFacts facts{.inputs = {spec("input_ids", {-1, -1}, at::kLong),
                              spec("attention_mask", {-1, -1}, at::kLong),
                              spec("position_ids", {-1, -1}, at::kLong),
                              spec("scale", {-1, 2}, at::kFloat)}};
  facts.table_rows["input_ids"] = 30;
  const auto inputs = random_data(facts, 8, 0).batch({0, 1, 2, 3, 4, 5, 6, 7}).inputs;
  EXPECT_EQ(inputs[0].sizes(), at::IntArrayRef({8, 32}));
  EXPECT_GE(inputs[0].min().item<int64_t>(), 0);
  EXPECT_LT(inputs[0].max().item<int64_t>(), 30);
  EXPECT_GT(inputs[0].max().item<int64_t>(), 20);
  EXPECT_TRUE(inputs[1].eq(1).all().item<bool>());
  EXPECT_EQ(inputs[2][3][31].item<int64_t>(), 31);
  EXPECT_TRUE(inputs[3].is_floating_point());
}

TEST(RandomData, FixedBatchesAreFilled) {
  const ModelFacts facts{.inputs = {spec("x", {4, 5}, at::kFloat)}};
  EXPECT_EQ(random_data(facts, 6, 0).size(), 8);
}

TEST(RandomData, UnknownShapesAreErrors) {
  const auto error_of = [](const InputSpec& input) -> std::string {
    try {
      random_data({.inputs = {input}}, 1, 0);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of({"x"}),
            "the shape of the input 'x' is unknown, so no random data can be generated; give "
            "--shape x=1x3x224x224");
  EXPECT_EQ(error_of(spec("x", {1, 2, -1}, at::kFloat)),
            "the input 'x' has dynamic sizes; give --shape x=1x3x224x224");
}

}  // namespace
}  // namespace sparsebit::data::random_data_test
