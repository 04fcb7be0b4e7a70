#include "sparsebit/fx/ops/value_text.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

namespace sparsebit::fx::value_text_test {
namespace {

std::string round_trip(const std::string& text) {
  ValueReader reader(text, "text");
  const Value value = reader.read_value();
  EXPECT_TRUE(reader.at_end());
  return format_value(value, [](const Node&) { return std::string(); });
}

TEST(ValueText, FloatsReadAsInPython) {
  EXPECT_EQ(format_double(1.0), "1.0");
  EXPECT_EQ(format_double(1e-5), "1e-05");
  EXPECT_EQ(format_double(0.1), "0.1");
  EXPECT_EQ(format_double(-0.0), "-0.0");
  EXPECT_EQ(format_double(1e22), "1e+22");
  EXPECT_EQ(format_double(std::numeric_limits<double>::infinity()), "inf");
}

TEST(ValueText, EveryKindComesBackAsItWas) {
  for (const char* text : {"None",
                           "True",
                           "False",
                           "0",
                           "-7",
                           "9223372036854775807",
                           "0.30000000000000004",
                           "1e-05",
                           "inf",
                           "-inf",
                           "nan",
                           "'it\\'s'",
                           "'back\\\\slash'",
                           "'two\\nlines'",
                           "torch.int8",
                           "torch.bfloat16",
                           "cpu",
                           "cuda:3",
                           "[]",
                           "[1, [2.0, 'a']]",
                           "()",
                           "(1,)",
                           "(1, 2)",
                           "{}",
                           "{a: 1, b.c: [2]}",
                           "slice(None, -1, 2)",
                           "...",
                           "tensor(1.5, dtype=torch.float32)",
                           "tensor([[1, 2], [3, 4]], dtype=torch.int64)",
                           "tensor([True, False], dtype=torch.bool)"}) {
    EXPECT_EQ(round_trip(text), text);
  }
}

TEST(ValueText, OtherSpellingsAreUnderstood) {
  EXPECT_EQ(round_trip("(1)"), "1");
  EXPECT_EQ(round_trip("\"double\""), "'double'");
  EXPECT_EQ(round_trip(" [ 1 , 2, ] "), "[1, 2]");
  EXPECT_EQ(round_trip("+3"), "3");
}

TEST(ValueText, LargeTensorsAreSummarized) {
  EXPECT_EQ(format_value(at::zeros({64, 3}), nullptr), "tensor(<float32[64, 3]>)");
  EXPECT_EQ(format_value(at::zeros({0}), nullptr), "tensor(<float32[0]>)");
}

TEST(ValueText, MalformedTextIsAnError) {
  for (const char* text :
       {"", "[1", "(1, 2", "{a 1}", "{: 1}", "1.2.3", "--1", "slice(1)", "tensor(1)", "'open",
        "cuda:", "%x", "hello", "9223372036854775808", "{'a': }"}) {
    ValueReader reader(text, "text");
    EXPECT_THROW(reader.read_value(), Error) << text;
  }
}

}  // namespace
}  // namespace sparsebit::fx::value_text_test
