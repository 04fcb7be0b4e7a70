#include "quant/kernels/onnxruntime_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <vector>

namespace sparsebit::quant::test::onnxruntime_math_test {
namespace {

// Hashes of results of ONNX Runtime 1.31, from scripts/onnxruntime_math_fixture.py. They hold on
// every processor, because the arithmetic of OnnxRuntimeMath does not depend on it.

constexpr int64_t kRows = 7, kSize = 197;

/// The same numbers as in the script; all of them are exact.
std::vector<float> numbers(int64_t count, uint32_t first) {
  std::vector<float> result;
  for (uint32_t i = first; i < first + static_cast<uint32_t>(count); ++i)
    result.push_back(static_cast<float>((i * 2654435761u) >> 8) / 0x1p20f - 8);
  return result;
}

/// FNV-1a of the bits.
uint64_t hash_of(const std::vector<float>& values) {
  uint64_t hash = 14695981039346656037u;
  for (const float value : values) hash = (hash ^ std::bit_cast<uint32_t>(value)) * 1099511628211u;
  return hash;
}

uint64_t hash_of(OnnxRuntimeMath::Elementwise function) {
  const std::vector<float> x = numbers(kRows * kSize, 0);
  std::vector<float> y(x.size());
  function(x.data(), y.data(), kRows * kSize);
  return hash_of(y);
}

uint64_t hash_of(OnnxRuntimeMath::Rows function) {
  const std::vector<float> x = numbers(kRows * kSize, 0);
  std::vector<float> y(x.size());
  function(x.data(), y.data(), kRows, kSize);
  return hash_of(y);
}

class OnnxRuntimeMathTest : public testing::TestWithParam<InstructionSet> {
 protected:
  const OnnxRuntimeMath& math_ = onnxruntime_math(GetParam());
};

TEST_P(OnnxRuntimeMathTest, FunctionsOfOneNumber) {
  EXPECT_EQ(hash_of(math_.exp), 0xa4c7a216cadb5045);
  EXPECT_EQ(hash_of(math_.erf), 0x5abd7b162892cb72);
  EXPECT_EQ(hash_of(math_.sigmoid), 0x5bab37fbb85432c3);
  EXPECT_EQ(hash_of(math_.tanh), 0x699b9bad90507c20);
}

TEST_P(OnnxRuntimeMathTest, SoftmaxAddsInOtherLanes) {
  const bool wide = GetParam() == InstructionSet::Avx512;
  EXPECT_EQ(hash_of(math_.softmax), wide ? 0xb8d0788ec929aba3 : 0x416cbc4c1e70bd81);
  EXPECT_EQ(hash_of(math_.log_softmax), 0x67e8cb01c33b7cb5);
}

TEST_P(OnnxRuntimeMathTest, LayerNorm) {
  const std::vector<float> x = numbers(kRows * kSize, 0);
  const std::vector<float> weight = numbers(kSize, 5000), bias = numbers(kSize, 6000);
  std::vector<float> y(x.size());
  math_.layer_norm(x.data(), y.data(), kRows, kSize, weight.data(), bias.data(), 1e-6f);
  EXPECT_EQ(hash_of(y), 0xee5ca229bb63f95e);
  math_.layer_norm(x.data(), y.data(), kRows, kSize, weight.data(), nullptr, 1e-6f);
  EXPECT_EQ(hash_of(y), 0xba282c7f437c9a2c);
}

/// For any distribution of rows over threads.
TEST_P(OnnxRuntimeMathTest, MeansStartWhereMemoryIsAligned) {
  const std::vector<float> x = numbers(kRows * kSize, 0);
  std::vector<float> y(kRows);
  math_.mean(x.data(), y.data(), 0, 3, kSize);
  math_.mean(x.data() + 3 * kSize, y.data() + 3, 3, kRows - 3, kSize);
  EXPECT_EQ(hash_of(y), 0x51730ed9d568eab6);
}

TEST_P(OnnxRuntimeMathTest, NumbersThatAreNone) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {std::numeric_limits<float>::quiet_NaN(), inf, -inf, 1000, -1000};
  std::vector<float> y(x.size());
  math_.exp(x.data(), y.data(), 5);
  EXPECT_TRUE(y[0] != y[0]);
  EXPECT_EQ(std::vector<float>(y.begin() + 1, y.end()), (std::vector<float>{inf, 0, inf, 0}));
  math_.sigmoid(x.data(), y.data(), 5);
  EXPECT_TRUE(y[0] != y[0]);
  EXPECT_EQ(std::vector<float>(y.begin() + 1, y.end()), (std::vector<float>{1, 0, 1, 0}));
}

INSTANTIATE_TEST_SUITE_P(All, OnnxRuntimeMathTest,
                         testing::Values(InstructionSet::Avx2, InstructionSet::Avx512),
                         [](const auto& info) {
                           return info.param == InstructionSet::Avx2 ? "Avx2" : "Avx512";
                         });

}  // namespace
}  // namespace sparsebit::quant::test::onnxruntime_math_test
