#include "export/onnx_values.h"

#include "sparsebit/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::exports::test::onnx_values_test {
namespace {

using testing::ThrowsMessage;

using MaybeShape = std::optional<Shape>;

struct Case {
  MaybeShape a, b, result;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << testing::PrintToString(c.a) << " and " << testing::PrintToString(c.b);
}

class Broadcast : public testing::TestWithParam<Case> {};

TEST_P(Broadcast, InBothOrders) {
  const Case& c = GetParam();
  EXPECT_EQ(broadcast(c.a, c.b), c.result);
  EXPECT_EQ(broadcast(c.b, c.a), c.result);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Broadcast,
                         testing::Values(Case{Shape{2, 3}, Shape{2, 3}, Shape{2, 3}},
                                         Case{Shape{2, 3}, Shape{3}, Shape{2, 3}},
                                         Case{Shape{2, 1}, Shape{1, 3}, Shape{2, 3}},
                                         Case{Shape{2, 3}, Shape{}, Shape{2, 3}},
                                         Case{Shape{-1, 3}, Shape{4, 1},
                                              Shape{4, 3}},  // must be 4, or be 1
                                         Case{Shape{-1, 3}, Shape{1, 3}, Shape{-1, 3}},  // any size
                                         Case{Shape{-1}, Shape{2, -1}, Shape{2, -1}},
                                         Case{Shape{2, 3}, std::nullopt, std::nullopt},
                                         Case{std::nullopt, std::nullopt, std::nullopt}));

TEST(OnnxTensor, DimensionsAreCountedFromBothEnds) {
  const OnnxTensor tensor{.name = "t", .dtype = at::kFloat, .shape = Shape{2, -1, 5}};
  EXPECT_EQ(tensor.rank(), 3);
  EXPECT_EQ(tensor.axis(-1), 2);
  EXPECT_EQ(tensor.size(0), 2);
  EXPECT_EQ(tensor.size(-2), -1);
  EXPECT_FALSE(tensor.fixed());
  EXPECT_THAT([&] { tensor.axis(3); },
              ThrowsMessage<Error>("dimension 3 is out of range for 't' of rank 3"));
  EXPECT_THAT([&] { tensor.axis(-4); },
              ThrowsMessage<Error>("dimension -4 is out of range for 't' of rank 3"));
}

TEST(OnnxTensor, AScalarHasOneAxisToReduce) {
  const OnnxTensor scalar{.name = "s", .dtype = at::kFloat, .shape = Shape{}};
  EXPECT_TRUE(scalar.fixed());
  EXPECT_EQ(scalar.axis(0), 0);
  EXPECT_EQ(scalar.axis(-1), 0);
  EXPECT_THROW(scalar.axis(1), Error);
}

TEST(OnnxTensor, AnUnknownRankIsAnError) {
  const OnnxTensor unknown{.name = "u"};
  EXPECT_FALSE(unknown.fixed());
  EXPECT_THAT(
      [&] { unknown.rank(); },
      ThrowsMessage<Error>("the rank of 'u' is not known; record shapes or give example inputs"));
}

/// A list of known values is a known value itself.
TEST(NodeResult, SequencesOfKnownValuesAreKnown) {
  const NodeResult list = NodeResult::sequence({fx::Value(1), fx::Value(2)}, /*is_list=*/true);
  EXPECT_TRUE(list.is_plain());
  EXPECT_TRUE(list.plain.is<fx::List>());
  EXPECT_TRUE(NodeResult::sequence({fx::Value(1)}).plain.is<fx::Tuple>());
  const NodeResult mixed =
      NodeResult::sequence({fx::Value(1), OnnxTensor{.name = "t"}}, /*is_list=*/true);
  EXPECT_TRUE(mixed.is_sequence());
  EXPECT_TRUE(mixed.is_list);
  EXPECT_TRUE(mixed.items[1].is_tensor());
  EXPECT_TRUE(NodeResult::number(OnnxTensor{.name = "n"}).is_number());
}

}  // namespace
}  // namespace sparsebit::exports::test::onnx_values_test
