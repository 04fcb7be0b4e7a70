#include "sparsebit/fx/ops/value.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::fx::value_test {
namespace {

using testing::ThrowsMessage;

TEST(Value, UndefinedTensorsAreNone) {
  EXPECT_TRUE(Value(at::Tensor()).is_none());
  EXPECT_TRUE(Value(at::ones({1})).is_tensor());
}

TEST(Value, NumbersConvertAsInPython) {
  EXPECT_EQ(Value(3).to_double(), 3.0);
  EXPECT_EQ(Value(true).to_int(), 1);
  EXPECT_TRUE(Value(2).to_bool());
  EXPECT_EQ(Value(at::tensor(5)).to_int(), 5);
  EXPECT_EQ(Value(at::tensor({2.5})).to_double(), 2.5);
  EXPECT_EQ(Value(List{1, true, at::tensor(3)}).ints(), (std::vector<int64_t>{1, 1, 3}));
}

TEST(Value, WrongTypesSayWhatWasFound) {
  EXPECT_THAT([] { Value(2.5).to_int(); },
              ThrowsMessage<Error>("wrong type; expected an int, found float 2.5"));
  EXPECT_THAT([] { Value("x").tensor(); },
              ThrowsMessage<Error>("wrong type; expected a tensor, found str 'x'"));
  EXPECT_THAT(
      [] {
        Value(at::ones({2, 3})).to_bool();
      },
      ThrowsMessage<Error>("wrong type; expected a bool, found Tensor[2, 3] float32"));
  EXPECT_THAT([] { Value().items(); },
              ThrowsMessage<Error>("wrong type; expected a list or tuple, found None"));
}

TEST(Value, EqualityIsByContentAndTensorIdentity) {
  const at::Tensor t = at::ones({1});
  EXPECT_EQ(Value(List{1, Tuple{"a", Slice(1, None())}}),
            Value(List{1, Tuple{"a", Slice(1, None())}}));
  EXPECT_NE(Value(List{1}), Value(Tuple{1}));
  EXPECT_NE(Value(1), Value(1.0));
  EXPECT_EQ(Value(t), Value(t));
  EXPECT_NE(Value(t), Value(t.clone()));
  EXPECT_EQ(Value(Dict{{"a", 1}}), Value(Dict{{"a", 1}}));
  EXPECT_NE(Value(Dict{{"a", 1}}), Value(Dict{{"b", 1}}));
  EXPECT_EQ(Value(at::kFloat), Value(at::kFloat));
}

TEST(Value, DescriptionsAreShort) {
  EXPECT_EQ(describe(Value(at::zeros({1, 3}, at::kLong))), "Tensor[1, 3] int64");
  EXPECT_EQ(describe(Value(List{1, 2})), "list [1, 2]");
  EXPECT_EQ(describe(Value(Tuple{})), "tuple ()");
  EXPECT_EQ(describe(Value(Ellipsis())), "...");
  EXPECT_EQ(describe(Value(at::kHalf)), "dtype torch.float16");
}

}  // namespace
}  // namespace sparsebit::fx::value_test
