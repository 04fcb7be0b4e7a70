#include "quant/kernels/onnxruntime_math.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

// The polynomials are known: N. Juffa's for expf and erff, which ONNX Runtime's MLAS evaluates with
// fused multiply-adds. Nothing else may be fused here (-ffp-contract=off), and no sum reordered.

/// With the instruction where the processor has it, and with libm's exact function where not.
#define SPARSEBIT_FMA_CLONES __attribute__((target_clones("arch=haswell", "default")))

namespace sparsebit::quant {
namespace {

constexpr int64_t kLanes = 8;  // of a vector; sums are one for each

constexpr float kRounding = 0x1.8p23f;  // a number plus this has no fraction
constexpr float kPerLog2 = 1.44269504088896341f;
constexpr float kLog2High = -6.93145752e-1f, kLog2Low = -1.42860677e-6f;
constexpr float kLowest = -88.3762626647949f;  // below it exp() would be denormal

template <size_t N>
inline __attribute__((always_inline)) float polynomial(const std::array<float, N>& factors,
                                                       float x) {
  float p = factors[0];
  for (size_t i = 1; i < N; ++i) p = std::fma(p, x, factors[i]);
  return p;
}

/// 2^m * f, where m was rounded by adding kRounding.
inline __attribute__((always_inline)) float times_power(float f, float biased) {
  const uint32_t exponent = (std::bit_cast<uint32_t>(biased) << 23) + 0x3f800000u;
  return f * std::bit_cast<float>(exponent);
}

inline __attribute__((always_inline)) float exp_of(float x, const std::array<float, 7>& factors) {
  x = std::max(kLowest, x);
  const float biased = std::fma(kPerLog2, x, kRounding);
  const float m = biased - kRounding;
  x = std::fma(m, kLog2High, x);
  x = std::fma(m, kLog2Low, x);
  return times_power(polynomial(factors, x), biased);
}

constexpr std::array<float, 7> kExp = {
    0x1.694000p-10f, 0x1.125edcp-7f, 0x1.555b5ap-5f, 0x1.555450p-3f, 0x1.fffff6p-2f, 1.f, 1.f};
constexpr std::array<float, 7> kExpOfErf = {
    1.38319808e-3f, 8.37550033e-3f, 4.16689515e-2f, 1.66664466e-1f, 4.99999851e-1f, 1.f, 1.f};
constexpr std::array<float, 6> kErfNearZero = {-5.99104969e-4f, 4.99339588e-3f,  -2.67667342e-2f,
                                               1.12818025e-1f,  -3.76124859e-1f, 1.28379151e-1f};
constexpr std::array<float, 7> kErfBeyond = {1.72948930e-5f,  -3.83208680e-4f, 3.88393435e-3f,
                                             -2.42545605e-2f, 1.06777847e-1f,  6.34846687e-1f,
                                             1.28717512e-1f};

inline __attribute__((always_inline)) float erf_of_one(float x) {
  constexpr float kBoundary = 0.921875f, kOne = 3.925f;  // where it is 1
  const float a = std::min(std::abs(x), kOne);
  const float near = std::fma(polynomial(kErfNearZero, a * a), a, a);
  const float beyond = 1.f - exp_of(-std::fma(polynomial(kErfBeyond, a), a, a), kExpOfErf);
  return std::copysign(a >= kBoundary ? beyond : near, x);
}

}  // namespace

SPARSEBIT_FMA_CLONES
void layer_norm_rows(const float* x, float* y, int64_t rows, int64_t size, const float* weight,
                     const float* bias, float eps) {
  const int64_t in_lanes = size / kLanes * kLanes;
  for (int64_t row = 0; row < rows; ++row, x += size, y += size) {
    double sum = 0;
    for (int64_t i = 0; i < size; ++i) sum += x[i];
    const auto mean = static_cast<float>(sum / static_cast<double>(size));
    std::array<float, kLanes> lanes = {};
    for (int64_t i = 0; i < in_lanes; i += kLanes) {
      for (size_t lane = 0; lane < kLanes; ++lane) {
        const float centred = x[i + static_cast<int64_t>(lane)] - mean;
        lanes[lane] = std::fma(centred, centred, lanes[lane]);
      }
    }
    float squares = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
                    ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
    for (int64_t i = in_lanes; i < size; ++i) squares += (x[i] - mean) * (x[i] - mean);
    const float factor = 1.f / std::sqrt(squares / static_cast<float>(size) + eps);
    for (int64_t i = 0; i < size; ++i) {
      const float normed = (x[i] - mean) * factor;
      y[i] = bias ? std::fma(normed, weight[i], bias[i]) : normed * weight[i];
    }
  }
}

SPARSEBIT_FMA_CLONES
void softmax_rows(const float* x, float* y, int64_t rows, int64_t size) {
  for (int64_t row = 0; row < rows; ++row, x += size, y += size) {
    const float highest = *std::max_element(x, x + size);
    for (int64_t i = 0; i < size; ++i) y[i] = exp_of(x[i] - highest, kExp);
    std::array<float, kLanes> lanes = {};
    for (int64_t i = 0; i < size; ++i) lanes[static_cast<size_t>(i % kLanes)] += y[i];
    const float low = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    const float high = (lanes[4] + lanes[5]) + (lanes[6] + lanes[7]);
    const float factor = 1.f / (high + low);
    for (int64_t i = 0; i < size; ++i) y[i] *= factor;
  }
}

SPARSEBIT_FMA_CLONES
void erf_of(const float* x, float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = erf_of_one(x[i]);
}

}  // namespace sparsebit::quant
