#include "sparsebit/data/model_data.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::data::model_data_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Samples of increasing length: sample i has i + 1 values.
class Staircase : public io::Dataset {
 public:
  int64_t size() const override { return 4; }
  io::Sample get(int64_t index) const override {
    return {.data = at::full({index + 1}, index + 1, at::kLong), .name = std::to_string(index)};
  }
  bool has_labels() const override { return false; }
  std::string describe() const override { return "rows"; }
};

InputSpec spec(const std::string& name, std::vector<int64_t> shape, at::ScalarType type,
               std::vector<std::string> symbols = {}) {
  return {name, fx::TensorInfo{std::move(shape), type, std::move(symbols)}};
}

std::shared_ptr<const io::Dataset> rows(int64_t count, at::ScalarType type = at::kFloat) {
  return io::dataset_of(at::arange(count * 2).reshape({count, 2}).to(type),
                        at::arange(count, at::kLong), "rows");
}

TEST(ModelData, InputsComeInTheOrderOfTheModel) {
  const ModelData data({spec("a", {-1, 2}, at::kFloat), spec("b", {-1, 2}, at::kInt)},
                       {{"b", rows(5)}, {"a", rows(5)}});
  const ModelData::Batch batch = data.batch({1, 4});
  ASSERT_EQ(batch.inputs.size(), 2u);
  EXPECT_TRUE(batch.inputs[0].equal(at::tensor({2.f, 3.f, 8.f, 9.f}).reshape({2, 2})));
  EXPECT_EQ(batch.inputs[1].scalar_type(), at::kInt);
  EXPECT_THAT(batch.labels, ElementsAre(1, 4));
  EXPECT_EQ(batch.size, 2);
  EXPECT_TRUE(data.has_labels());
  EXPECT_FALSE(data.is_ragged());
}

/// Samples are read and preprocessed by several threads.
TEST(ModelData, ThreadsKeepTheOrder) {
  const ModelData data({spec("x", {-1, 2}, at::kFloat)}, {{"x", rows(60)}});
  const int before = at::get_num_threads();
  std::vector<int64_t> indices(60);
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = 59 - static_cast<int64_t>(i);
  for (const int threads : {1, 4}) {
    at::set_num_threads(threads);
    const ModelData::Batch batch = data.batch(indices);
    EXPECT_TRUE(batch.inputs[0].equal(at::arange(120, at::kFloat).reshape({60, 2}).flip(0)));
    EXPECT_EQ(batch.labels, indices);
  }
  at::set_num_threads(before);
}

TEST(ModelData, ShorterSamplesAreFilledUp) {
  const auto batch_of = [](std::vector<int64_t> shape) {
    const ModelData data({spec("ids", std::move(shape), at::kLong)},
                         {{"ids", std::make_shared<Staircase>(), {}, 9.}});
    return std::pair(data.batch({1, 2}).inputs[0], data.is_ragged());
  };
  const auto [open, is_ragged] = batch_of({-1, -1});
  EXPECT_TRUE(open.equal(at::tensor({2, 2, 9, 3, 3, 3}, at::kLong).reshape({2, 3})));
  EXPECT_TRUE(is_ragged);
  const auto [fixed, is_open] = batch_of({-1, 4});  // padded to the model's length
  EXPECT_TRUE(fixed.equal(at::tensor({2, 2, 9, 9, 3, 3, 3, 9}, at::kLong).reshape({2, 4})));
  EXPECT_FALSE(is_open);
  const ModelData alike({spec("ids", {-1, -1}, at::kLong)},
                        {{"ids", std::make_shared<Staircase>()}});
  EXPECT_THAT(
      [&] {
        alike.batch({0, 1});
      },
      ThrowsMessage<Error>(HasSubstr("sample '1' has shape [2], and others have [1]")));
}

/// Dynamic sizes are taken from other inputs with the same symbol.
TEST(ModelData, FixedInputsHaveTheSizesOfOthers) {
  const std::vector<std::string> names = {"batch", "sequence"};
  const ModelData data(
      {spec("x", {-1, -1}, at::kFloat, names), spec("mask", {-1, -1}, at::kBool, names),
       spec("bias", {-1, 3}, at::kFloat)},
      {{"x", rows(4)}}, {{"mask", at::scalar_tensor(1)}, {"bias", at::ones({1, 3})}});
  const ModelData::Batch batch = data.batch({0, 1, 2});
  EXPECT_TRUE(batch.inputs[1].equal(at::ones({3, 2}, at::kBool)));
  EXPECT_TRUE(batch.inputs[2].equal(at::ones({3, 3})));
  const ModelData unknown({spec("x", {-1, 2}, at::kFloat), spec("mask", {-1, -1}, at::kFloat)},
                          {{"x", rows(4)}}, {{"mask", at::scalar_tensor(1)}});
  EXPECT_THAT([&] { unknown.batch({0}); },
              ThrowsMessage<Error>(HasSubstr("the size of axis 1 of the input 'mask' is dynamic")));
}

/// Several batches of a model with batch size 2.
TEST(ModelData, FixedInputsOfFixedBatches) {
  const ModelData data({spec("x", {2, 2}, at::kFloat), spec("mask", {2, 3}, at::kBool),
                        spec("bias", {2, 1}, at::kFloat), spec("anchors", {5}, at::kFloat)},
                       {{"x", rows(4)}},
                       {{"mask", at::scalar_tensor(1)},
                        {"bias", at::tensor({1., 2.}).reshape({2, 1})},
                        {"anchors", at::ones({5})}});
  const ModelData::Batch batch = data.batch({0, 1, 2, 3});
  EXPECT_EQ(batch.inputs[1].sizes(), at::IntArrayRef({4, 3}));
  EXPECT_TRUE(batch.inputs[2].equal(at::tensor({1.f, 2.f, 1.f, 2.f}).reshape({4, 1})));
  EXPECT_EQ(batch.inputs[3].sizes(), at::IntArrayRef({5}));
  const ModelData fraction({spec("x", {-1, 2}, at::kFloat), spec("n", {-1}, at::kLong)},
                           {{"x", rows(4)}}, {{"n", at::scalar_tensor(0.5)}});
  EXPECT_THAT([&] { fraction.batch({0}); },
              ThrowsMessage<Error>(HasSubstr("cannot represent its values")));
}

TEST(ModelData, TypesThatWouldLoseNumbersAreErrors) {
  const ModelData data({spec("x", {-1}, at::kLong)},
                       {{"x", std::shared_ptr<const io::Dataset>(
                                  io::dataset_of(at::tensor({0.5f, 1.f}), {}, "x"))}});
  EXPECT_THAT([&] { data.batch({0}); },
              ThrowsMessage<Error>(HasSubstr("takes Long, which cannot represent its values")));
  EXPECT_EQ(data.batch({1}).inputs[0].item<int64_t>(), 1);
}

/// Trailing inputs with a default value may be omitted.
TEST(ModelData, InputsWithDefaultsMayBeLeftOut) {
  InputSpec with_default = spec("scale", {}, at::kFloat);
  with_default.has_default = true;
  const ModelData data({spec("x", {-1, 2}, at::kFloat), with_default}, {{"x", rows(2)}});
  EXPECT_EQ(data.batch({0}).inputs.size(), 1u);
}

TEST(ModelData, SourcesFitTheInputs) {
  const std::vector<InputSpec> inputs = {spec("a", {-1, 2}, at::kFloat),
                                         spec("b", {-1, 2}, at::kFloat)};
  const auto error_of = [&](std::vector<InputFeed> feeds,
                            std::vector<FixedInput> fixed) -> std::string {
    try {
      ModelData(inputs, std::move(feeds), std::move(fixed));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of({{"a", rows(2)}}, {}), "the input 'b' is missing");
  EXPECT_EQ(error_of({{"a", rows(2)}, {"b", rows(3)}}, {}),
            "there are 2 samples for 'a' and 3 for 'b'");
  EXPECT_EQ(error_of({{"a", rows(2)}, {"b", rows(2)}}, {{"b", at::ones({1})}}),
            "the input 'b' is given twice");
  EXPECT_THAT(error_of({{"a", rows(2)}}, {{"bb", at::ones({1})}}),
              HasSubstr("there is no input 'bb'; did you mean 'b'"));
  EXPECT_EQ(error_of({}, {{"a", at::ones({1})}, {"b", at::ones({1})}}), "no input has samples");
}

}  // namespace
}  // namespace sparsebit::data::model_data_test
