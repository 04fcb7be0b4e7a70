#include "sparsebit/quant/spec/quant_spec.h"

#include <gtest/gtest.h>

namespace sparsebit::quant::quant_spec_test {
namespace {

struct SpecCase {
  const char* scheme;
  int bits;
  std::optional<IntegerRange> range;
  int64_t qmin, qmax;
  const char* type;
  int bits_in_use;
};

TEST(QuantSpec, IntegersOfTypesAndRanges) {
  const std::vector<SpecCase> cases = {
      {"per-tensor-symmetric", 8, {}, -128, 127, "int8", 8},
      {"per-tensor-affine", 4, {}, 0, 15, "uint4", 4},
      {"per-channel-symmetric", 8, IntegerRange{-64, 63}, -64, 63, "int8", 7},
      {"per-tensor-symmetric", 8, IntegerRange{0, 255}, 0, 255, "uint8", 8},
      {"per-tensor-affine", 8, IntegerRange{-128, 127}, -128, 127, "int8", 8},
  };
  for (const SpecCase& c : cases) {
    SCOPED_TRACE(c.type);
    const QuantSpec spec{.scheme = scheme_from_text(c.scheme), .bits = c.bits, .range = c.range};
    EXPECT_EQ(spec.qmin(), c.qmin);
    EXPECT_EQ(spec.qmax(), c.qmax);
    EXPECT_EQ(spec.type_name(), c.type);
    EXPECT_EQ(spec.bits_in_use(), c.bits_in_use);
  }
}

TEST(IntegerRange, FitsATypeOfTheseBits) {
  EXPECT_TRUE((IntegerRange{-128, 127}.fits(8)));
  EXPECT_TRUE((IntegerRange{0, 255}.fits(8)));
  EXPECT_FALSE((IntegerRange{-1, 128}.fits(8)));
  EXPECT_FALSE((IntegerRange{-129, 0}.fits(8)));
  EXPECT_FALSE((IntegerRange{0, 256}.fits(8)));
  EXPECT_FALSE((IntegerRange{3, 3}.fits(8)));
}

TEST(IntegerRange, IsBalancedAroundZeroOrFromZeroOn) {
  EXPECT_TRUE((IntegerRange{-64, 63}.is_balanced()));
  EXPECT_TRUE((IntegerRange{-63, 63}.is_balanced()));
  EXPECT_TRUE((IntegerRange{0, 200}.is_balanced()));
  EXPECT_FALSE((IntegerRange{-10, 63}.is_balanced()));
  EXPECT_FALSE((IntegerRange{1, 63}.is_balanced()));
}

}  // namespace
}  // namespace sparsebit::quant::quant_spec_test
