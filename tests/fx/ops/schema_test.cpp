#include "sparsebit/fx/ops/schema.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::fx::schema_test {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

TEST(Schema, TextIsRead) {
  const Schema schema = "input, dim|axis=None, *, keepdim=False";
  EXPECT_EQ(schema.to_string(), "input, dim=None, *, keepdim=False");
  ASSERT_EQ(schema.size(), 3u);
  EXPECT_TRUE(schema.parameters()[2].keyword_only);
  EXPECT_TRUE(schema.parameters()[1].answers_to("axis"));
  EXPECT_TRUE(Schema("").empty());
  EXPECT_THROW(Schema("a b"), Error);
  EXPECT_THROW(Schema("a,, b"), Error);
}

TEST(Schema, BindsPositionsKeywordsAliasesAndDefaults) {
  const Schema schema = "input, dim|axis=None, *, keepdim=False";
  const std::vector<Value> one = {1}, two = {1, 2};
  EXPECT_THAT(schema.bind(one, {}), ElementsAre(Value(1), Value(), Value(false)));
  EXPECT_THAT(schema.bind(two, {{"keepdim", true}}), ElementsAre(Value(1), Value(2), Value(true)));
  EXPECT_THAT(schema.bind(one, {{"axis", 3}}), ElementsAre(Value(1), Value(3), Value(false)));
}

TEST(Schema, VariadicArgumentsTakeVarargsOrOneSequence) {
  const Schema schema = "input, *shape|size";
  const Value expected = List{2, 3};
  EXPECT_EQ(schema.bind(std::vector<Value>{0, 2, 3}, {})[1], expected);
  EXPECT_EQ(schema.bind(std::vector<Value>{0, Tuple{2, 3}}, {})[1], expected);
  EXPECT_EQ(schema.bind(std::vector<Value>{0}, {{"size", List{2, 3}}})[1], expected);
  EXPECT_EQ(schema.bind(std::vector<Value>{0, 5}, {})[1], Value(List{5}));
}

TEST(Schema, MistakesAreExplained) {
  const Schema schema = "input, alpha=1, *, out=None";
  EXPECT_THAT([&] { schema.bind({}, {}); },
              ThrowsMessage<Error>(
                  "argument 'input' is missing; the signature is (input, alpha=1, *, out=None)"));
  EXPECT_THAT(
      [&] {
        schema.bind(std::vector<Value>{1, 2, 3}, {});
      },
      ThrowsMessage<Error>(
          "takes at most 2 positional arguments, got 3; the signature is (input, alpha=1, "
          "*, out=None)"));
  EXPECT_THAT(
      [&] {
        schema.bind(std::vector<Value>{1}, {{"alpa", 2}});
      },
      ThrowsMessage<Error>(
          "unknown argument 'alpa'; did you mean 'alpha'?; the signature is (input, "
          "alpha=1, *, out=None)"));
  EXPECT_THAT(
      [&] {
        schema.bind(std::vector<Value>{1}, {{"input", 2}});
      },
      ThrowsMessage<Error>("argument 'input' is given twice"));
}

TEST(Args, ConversionsNameTheArgument) {
  const Schema schema = "input, stride=1, mode='same', p=None";
  const Args args(schema, schema.bind(std::vector<Value>{at::ones({1})}, {}));
  EXPECT_EQ(args.ints("stride", 2), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(args.text("mode"), "same");
  EXPECT_FALSE(args.optional_number("p"));
  EXPECT_THAT([&] { args.tensor("mode"); },
              ThrowsMessage<Error>(
                  "wrong type; expected a tensor, found str 'same'\n  in argument 'mode'"));
  const Args three(schema, {at::ones({1}), List{1, 2, 3}, "same", None()});
  EXPECT_THAT([&] { three.ints("stride", 2); },
              ThrowsMessage<Error>("argument 'stride' must be one int or 2, got 3"));
}

}  // namespace
}  // namespace sparsebit::fx::schema_test
