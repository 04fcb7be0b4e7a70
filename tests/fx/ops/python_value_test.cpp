#include "fx/ops/python_value.h"

#include "sparsebit/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sparsebit::fx::python::python_value_test {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min();

using Binary = Value (*)(const Value&, const Value&);

struct BinaryCase {
  Binary function;
  Value a, b, result;
};

TEST(PythonValue, ArithmeticFollowsPython) {
  const BinaryCase cases[] = {
      {add, 2, 3, 5},
      {add, true, true, 2},
      {add, 2, 0.5, 2.5},
      {add, "ab", "c", "abc"},
      {add, Tuple{1, 2}, Tuple{3}, Tuple{1, 2, 3}},
      {add, List{1}, List{}, List{1}},
      {sub, 2, 3, -1},
      {sub, 2.0, 3, -1.0},
      {mul, 4, 3, 12},
      {mul, Tuple{1, 2}, 2, Tuple{1, 2, 1, 2}},
      {mul, 2, List{0}, List{0, 0}},
      {mul, List{0}, -1, List{}},
      {mul, "ab", 2, "abab"},
      {true_divide, 4, 2, 2.0},
      {true_divide, 1, 4, 0.25},
      {floor_divide, 7, 2, 3},
      {floor_divide, -7, 2, -4},
      {floor_divide, 7, -2, -4},
      {floor_divide, -7, -2, 3},
      {floor_divide, 7, -1, -7},
      {floor_divide, 7.0, 2, 3.0},
      {floor_divide, -7.5, 2, -4.0},
      {floor_divide, -1.0, INFINITY, -1.0},
      {modulo, 7, 3, 1},
      {modulo, -7, 3, 2},
      {modulo, 7, -3, -2},
      {modulo, kSmallest, -1, 0},
      {modulo, -7.5, 2, 0.5},
      {modulo, 7.5, -2, -0.5},
      {power, 2, 10, 1024},
      {power, 2, 0, 1},
      {power, -3, 3, -27},
      {power, 2, -1, 0.5},
      {power, 4, 0.5, 2.0},
      {power, 1, kLargest, 1},
  };
  for (const BinaryCase& c : cases) {
    const Value result = c.function(c.a, c.b);
    EXPECT_TRUE(result == c.result) << describe(c.a) << ", " << describe(c.b) << " gives "
                                    << describe(result) << " instead of " << describe(c.result);
  }
}

TEST(PythonValue, BitsFollowPython) {
  const BinaryCase cases[] = {
      {bit_and, 6, 3, 2},           {bit_and, true, false, false},
      {bit_and, true, 1, 1},        {bit_or, 6, 3, 7},
      {bit_or, true, false, true},  {bit_xor, 6, 3, 5},
      {bit_xor, true, true, false}, {left_shift, 1, 4, 16},
      {left_shift, true, true, 2},  {left_shift, -1, 3, -8},
      {left_shift, 0, 100, 0},      {right_shift, 16, 3, 2},
      {right_shift, -1, 100, -1},   {right_shift, true, 0, 1},
  };
  for (const BinaryCase& c : cases) {
    EXPECT_TRUE(c.function(c.a, c.b) == c.result) << describe(c.a) << ", " << describe(c.b);
  }
  EXPECT_TRUE(bit_not(5) == Value(-6));
  EXPECT_TRUE(bit_not(true) == Value(-2));
}

TEST(PythonValue, SignsFollowPython) {
  EXPECT_TRUE(negative(3) == Value(-3));
  EXPECT_TRUE(negative(true) == Value(-1));
  EXPECT_TRUE(negative(2.5) == Value(-2.5));
  EXPECT_TRUE(absolute(-3) == Value(3));
  EXPECT_TRUE(absolute(-2.5) == Value(2.5));
  EXPECT_TRUE(absolute(true) == Value(1));
}

TEST(PythonValue, EqualityFollowsPython) {
  EXPECT_TRUE(equal(1, 1.0));
  EXPECT_TRUE(equal(true, 1));
  EXPECT_FALSE(equal(kLargest, std::ldexp(1.0, 63)));
  EXPECT_TRUE(equal("a", "a"));
  EXPECT_TRUE(equal(None(), None()));
  EXPECT_FALSE(equal(None(), 0));
  EXPECT_TRUE(equal(Tuple{1, 2.0}, Tuple{1.0, 2}));
  EXPECT_FALSE(equal(Tuple{1}, List{1}));
  EXPECT_FALSE(equal(Tuple{1}, Tuple{1, 2}));
  EXPECT_TRUE(equal(at::kFloat, at::kFloat));
  EXPECT_FALSE(equal(NAN, NAN));
}

TEST(PythonValue, OrderFollowsPython) {
  EXPECT_TRUE(less(1, 1.5));
  EXPECT_TRUE(less("a", "b"));
  EXPECT_TRUE(less(Tuple{1, 2}, Tuple{1, 3}));
  EXPECT_TRUE(less(Tuple{1}, Tuple{1, 0}));
  EXPECT_TRUE(less_equal(2, 2.0));
  EXPECT_FALSE(less(NAN, 1.0));
  EXPECT_FALSE(less_equal(NAN, 1.0));
}

TEST(PythonValue, TruthFollowsPython) {
  for (const Value& v : {Value(), Value(false), Value(0), Value(0.0), Value(""), Value(List{}),
                         Value(Tuple{}), Value(Dict{})}) {
    EXPECT_FALSE(truth(v)) << describe(v);
  }
  for (const Value& v : {Value(true), Value(-1), Value(0.5), Value("a"), Value(List{0}),
                         Value(Dict{{"a", 0}}), Value(at::kFloat)}) {
    EXPECT_TRUE(truth(v)) << describe(v);
  }
}

struct FailingCase {
  Binary function;
  Value a, b;
  const char* message;
};

TEST(PythonValue, WhatPythonRefusesIsAnError) {
  const FailingCase cases[] = {
      {add, 1, "a", "unsupported operands for +: int 1 and str 'a'"},
      {add, List{1}, Tuple{1}, "unsupported operands for +: list [1] and tuple (1,)"},
      {sub, "a", "b", "unsupported operands for -: str 'a' and str 'b'"},
      {mul, None(), 2, "unsupported operands for *: None and int 2"},
      {true_divide, 1, 0, "division by zero"},
      {floor_divide, 1, 0, "division by zero"},
      {modulo, 1.0, 0.0, "division by zero"},
      {power, 0, -1, "0 cannot be raised to a negative power"},
      {power, -1.0, 0.5, "the power of a negative number is complex: -1 ** 0.5"},
      {bit_and, 1.0, 1, "unsupported operands for &: float 1.0 and int 1"},
      {left_shift, 1, -1, "negative shift count -1"},
      // Python has integers of any size.
      {add, kLargest, 1, "the result does not fit in 64 bits"},
      {sub, kSmallest, 1, "the result does not fit in 64 bits"},
      {mul, kLargest, 2, "the result does not fit in 64 bits"},
      {floor_divide, kSmallest, -1, "the result does not fit in 64 bits"},
      {power, 10, 19, "the result does not fit in 64 bits"},
      {left_shift, 1, 63, "the result does not fit in 64 bits"},
  };
  for (const FailingCase& c : cases) {
    EXPECT_THAT([&] { c.function(c.a, c.b); }, testing::ThrowsMessage<Error>(c.message));
  }
  EXPECT_THAT([] { less(1, "a"); },
              testing::ThrowsMessage<Error>("unsupported operands for <: int 1 and str 'a'"));
}

TEST(PythonValue, ItemPositionCountsFromTheEndToo) {
  EXPECT_EQ(item_position(0, 3, "list"), 0u);
  EXPECT_EQ(item_position(-1, 3, "list"), 2u);
  EXPECT_THAT([] { item_position(3, 3, "tuple"); },
              testing::ThrowsMessage<Error>("tuple index out of range: 3 with 3 items"));
  EXPECT_THAT([] { item_position(-4, 3, "tuple"); },
              testing::ThrowsMessage<Error>("tuple index out of range: -4 with 3 items"));
}

}  // namespace
}  // namespace sparsebit::fx::python::python_value_test
