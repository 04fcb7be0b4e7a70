#include "quant/kernels/onnxruntime_math.h"

#include "quant/kernels/for_each_cpu.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

// The polynomials are published: N. Juffa's for expf and erff, Eigen's for the logistic function
// and tanh. ONNX Runtime's MLAS evaluates them with fused multiply-adds. No other operations may be
// fused here (-ffp-contract=off), and no sum may be reordered.

/// std::fma() by the FMA instruction if the processor has it, else by libm; both are exact.
#define SPARSEBIT_FMA_CLONES SPARSEBIT_CPU_CLONES("arch=haswell", "default")
#define SPARSEBIT_INLINE inline __attribute__((always_inline))

namespace sparsebit::quant {
namespace {

template <size_t N>
SPARSEBIT_INLINE float polynomial(const std::array<float, N>& factors, float x) {
  float p = factors[0];
  for (size_t i = 1; i < N; ++i) p = std::fma(p, x, factors[i]);
  return p;
}

// --- exp ----------------------------------------------------------------------------------------

constexpr float kRounding = 0x1.8p23f;  // x + kRounding - kRounding rounds x
constexpr float kPerLog2 = 1.44269504088896341f;
constexpr float kLog2High = -6.93145752e-1f, kLog2Low = -1.42860677e-6f;
constexpr float kLowest = -103.9720840454f;          // below it exp() is 0
constexpr float kLowestNormal = -88.3762626647949f;  // below it exp() is denormal
constexpr float kHighest = 89.5f;                    // from 88.8 on exp() is infinite

/// The integer m from m + kRounding.
SPARSEBIT_INLINE uint32_t rounded(float biased) {
  return std::bit_cast<uint32_t>(biased) - std::bit_cast<uint32_t>(kRounding);
}

SPARSEBIT_INLINE float power_of_2(uint32_t m) {
  return std::bit_cast<float>((m << 23) + 0x3f800000u);
}

/// 2^m * f for normal results.
SPARSEBIT_INLINE float scaled_once(float f, float biased) {
  return f * power_of_2(rounded(biased));
}

/// 2^m * f, rounded once where the result is denormal.
SPARSEBIT_INLINE float scaled_twice(float f, float biased) {
  const auto m = static_cast<int32_t>(rounded(biased));
  const int32_t half = m >> 1;
  return f * power_of_2(static_cast<uint32_t>(half)) * power_of_2(static_cast<uint32_t>(m - half));
}

template <float (*Scaled)(float, float)>
SPARSEBIT_INLINE float exp_of(float x, const std::array<float, 7>& factors) {
  const float biased = std::fma(kPerLog2, x, kRounding);
  const float m = biased - kRounding;
  x = std::fma(m, kLog2High, x);
  x = std::fma(m, kLog2Low, x);
  return Scaled(polynomial(factors, x), biased);
}

constexpr std::array<float, 7> kExp = {
    0x1.694000p-10f, 0x1.125edcp-7f, 0x1.555b5ap-5f, 0x1.555450p-3f, 0x1.fffff6p-2f, 1.f, 1.f};

/// max(low, x) and min(high, x); NaN stays NaN.
SPARSEBIT_INLINE float at_least(float low, float x) { return x < low ? low : x; }
SPARSEBIT_INLINE float at_most(float high, float x) { return x > high ? high : x; }

SPARSEBIT_FMA_CLONES
void exp_all(const float* x, float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    y[i] = exp_of<scaled_twice>(at_most(kHighest, at_least(kLowest, x[i])), kExp);
}

// --- softmax ------------------------------------------------------------------------------------

/// exp(x), x <= 0, and the order in which lanes are summed, for each instruction set.
struct Avx2Softmax {
  static constexpr size_t kLanes = 8;
  static SPARSEBIT_INLINE float exp(float x) {
    return exp_of<scaled_once>(at_least(kLowestNormal, x), kExp);
  }
  static SPARSEBIT_INLINE float sum(const std::array<float, kLanes>& a) {
    return ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7]));
  }
};

struct Avx512Softmax {
  static constexpr size_t kLanes = 16;
  static SPARSEBIT_INLINE float exp(float x) {
    return exp_of<scaled_twice>(at_least(kLowest, x), kExp);
  }
  static SPARSEBIT_INLINE float sum(const std::array<float, kLanes>& lanes) {
    std::array<float, 8> a;
    for (size_t i = 0; i < 8; ++i) a[i] = lanes[i + 8] + lanes[i];
    return Avx2Softmax::sum(a);
  }
};

/// Writes exp(x - highest) into `y` and returns its sum.
template <class Set>
SPARSEBIT_INLINE float exp_and_sum(const float* x, float* y, int64_t size, float highest) {
  for (int64_t i = 0; i < size; ++i) y[i] = Set::exp(x[i] - highest);
  std::array<float, Set::kLanes> lanes = {};
  constexpr auto kStep = static_cast<int64_t>(Set::kLanes);
  int64_t i = 0;
  for (; i + kStep <= size; i += kStep) {
    for (size_t lane = 0; lane < Set::kLanes; ++lane)
      lanes[lane] += y[i + static_cast<int64_t>(lane)];
  }
  for (size_t lane = 0; i < size; ++i, ++lane) lanes[lane] += y[i];
  return Set::sum(lanes);
}

template <class Set>
SPARSEBIT_INLINE void softmax_of(const float* x, float* y, int64_t rows, int64_t size) {
  for (int64_t row = 0; row < rows; ++row, x += size, y += size) {
    const float factor = 1.f / exp_and_sum<Set>(x, y, size, *std::max_element(x, x + size));
    for (int64_t i = 0; i < size; ++i) y[i] *= factor;
  }
}

template <class Set>
SPARSEBIT_INLINE void log_softmax_of(const float* x, float* y, int64_t rows, int64_t size) {
  for (int64_t row = 0; row < rows; ++row, x += size, y += size) {
    const float highest = *std::max_element(x, x + size);
    // In pieces of lanes, because y may be x.
    std::array<float, Set::kLanes> lanes = {}, piece;
    constexpr auto kStep = static_cast<int64_t>(Set::kLanes);
    for (int64_t i = 0; i < size; i += kStep) {
      const auto count = static_cast<size_t>(std::min(kStep, size - i));
      for (size_t lane = 0; lane < count; ++lane)
        piece[lane] = Set::exp(x[i + static_cast<int64_t>(lane)] - highest);
      for (size_t lane = 0; lane < count; ++lane) lanes[lane] += piece[lane];
    }
    const float logarithm = std::log(Set::sum(lanes));
    for (int64_t i = 0; i < size; ++i) y[i] = x[i] - highest - logarithm;
  }
}

SPARSEBIT_FMA_CLONES
void softmax_avx2(const float* x, float* y, int64_t rows, int64_t size) {
  softmax_of<Avx2Softmax>(x, y, rows, size);
}
SPARSEBIT_FMA_CLONES
void softmax_avx512(const float* x, float* y, int64_t rows, int64_t size) {
  softmax_of<Avx512Softmax>(x, y, rows, size);
}
SPARSEBIT_FMA_CLONES
void log_softmax_avx2(const float* x, float* y, int64_t rows, int64_t size) {
  log_softmax_of<Avx2Softmax>(x, y, rows, size);
}
SPARSEBIT_FMA_CLONES
void log_softmax_avx512(const float* x, float* y, int64_t rows, int64_t size) {
  log_softmax_of<Avx512Softmax>(x, y, rows, size);
}

// --- erf, sigmoid, tanh -------------------------------------------------------------------------

constexpr std::array<float, 7> kExpOfErf = {
    1.38319808e-3f, 8.37550033e-3f, 4.16689515e-2f, 1.66664466e-1f, 4.99999851e-1f, 1.f, 1.f};
constexpr std::array<float, 6> kErfNearZero = {-5.99104969e-4f, 4.99339588e-3f,  -2.67667342e-2f,
                                               1.12818025e-1f,  -3.76124859e-1f, 1.28379151e-1f};
constexpr std::array<float, 7> kErfBeyond = {1.72948930e-5f,  -3.83208680e-4f, 3.88393435e-3f,
                                             -2.42545605e-2f, 1.06777847e-1f,  6.34846687e-1f,
                                             1.28717512e-1f};

SPARSEBIT_INLINE float erf_of(float x) {
  constexpr float kBoundary = 0.921875f, kOne = 3.925f;  // erf(kOne) is 1
  const float a = std::min(std::abs(x), kOne);
  const float near = std::fma(polynomial(kErfNearZero, a * a), a, a);
  const float exponent = -std::fma(polynomial(kErfBeyond, a), a, a);
  const float beyond = 1.f - exp_of<scaled_once>(at_least(kLowestNormal, exponent), kExpOfErf);
  return std::copysign(a >= kBoundary ? beyond : near, x);
}

SPARSEBIT_FMA_CLONES
void erf_all(const float* x, float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = erf_of(x[i]);
}

/// x * P(x^2) / Q(x^2)
template <size_t P, size_t Q>
SPARSEBIT_INLINE float odd_ratio(const std::array<float, P>& p, const std::array<float, Q>& q,
                                 float x) {
  const float square = x * x;
  return polynomial(p, square) * x / polynomial(q, square);
}

constexpr std::array<float, 5> kSigmoidP = {4.37031012579801e-11f, 1.15627324459942e-07f,
                                            6.08574864600143e-05f, 8.51377133304701e-03f,
                                            2.48287947061529e-01f};
constexpr std::array<float, 6> kSigmoidQ = {6.10247389755681e-13f, 5.76102136993427e-09f,
                                            6.29106785017040e-06f, 1.70198817374094e-03f,
                                            1.16817656904453e-01f, 9.93151921023180e-01f};

SPARSEBIT_FMA_CLONES
void sigmoid_all(const float* x, float* y, int64_t count) {
  constexpr float kFar = 18;
  for (int64_t i = 0; i < count; ++i) {
    const float near = at_most(kFar, at_least(-kFar, x[i]));
    y[i] = at_least(0.f, odd_ratio(kSigmoidP, kSigmoidQ, near) + 0.5f);
  }
}

constexpr std::array<float, 7> kTanhP = {
    -2.76076847742355e-16f, 2.00018790482477e-13f, -8.60467152213735e-11f, 5.12229709037114e-08f,
    1.48572235717979e-05f,  6.37261928875436e-04f, 4.89352455891786e-03f};
constexpr std::array<float, 4> kTanhQ = {1.19825839466702e-06f, 1.18534705686654e-04f,
                                         2.26843463243900e-03f, 4.89352518554385e-03f};

SPARSEBIT_FMA_CLONES
void tanh_all(const float* x, float* y, int64_t count) {
  constexpr float kFar = 9;
  for (int64_t i = 0; i < count; ++i)
    y[i] = odd_ratio(kTanhP, kTanhQ, at_most(kFar, at_least(-kFar, x[i])));
}

// --- layer norm ---------------------------------------------------------------------------------

constexpr int64_t kNormLanes = 8;

/// Rows shorter than a vector: Welford's algorithm, sequential.
SPARSEBIT_INLINE void norm_short_row(const float* x, float* y, int64_t size, const float* weight,
                                     const float* bias, float eps) {
  float mean = 0, squares = 0;
  for (int64_t i = 0; i < size; ++i) {
    const float from_mean = x[i] - mean;
    mean += from_mean / static_cast<float>(i + 1);
    squares += from_mean * (x[i] - mean);
  }
  const float deviation = std::sqrt(squares / static_cast<float>(size) + eps);
  for (int64_t i = 0; i < size; ++i) {
    y[i] = (x[i] - mean) / deviation * weight[i];
    if (bias) y[i] += bias[i];
  }
}

/// The sum of (x - mean)^2 in the order of the compiled ONNX Runtime: in lanes, then four at a time
/// without fusing, then fused.
SPARSEBIT_INLINE float centred_squares(const float* x, int64_t size, float mean) {
  std::array<float, kNormLanes> a = {};
  int64_t i = 0;
  for (; i + kNormLanes <= size; i += kNormLanes) {
    for (size_t lane = 0; lane < kNormLanes; ++lane) {
      const float centred = x[i + static_cast<int64_t>(lane)] - mean;
      a[lane] = std::fma(centred, centred, a[lane]);
    }
  }
  float squares = ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
  for (const int64_t end = i + (size - i) / 4 * 4; i < end; ++i)
    squares += (x[i] - mean) * (x[i] - mean);
  for (; i < size; ++i) squares = std::fma(x[i] - mean, x[i] - mean, squares);
  return squares;
}

SPARSEBIT_FMA_CLONES
void layer_norm_rows(const float* x, float* y, int64_t rows, int64_t size, const float* weight,
                     const float* bias, float eps) {
  for (int64_t row = 0; row < rows; ++row, x += size, y += size) {
    if (size < kNormLanes) {
      norm_short_row(x, y, size, weight, bias, eps);
      continue;
    }
    double sum = 0;
    for (int64_t i = 0; i < size; ++i) sum += x[i];
    const auto mean = static_cast<float>(sum / static_cast<double>(size));
    const float squares = centred_squares(x, size, mean);
    const float factor = 1.f / std::sqrt(squares / static_cast<float>(size) + eps);
    for (int64_t i = 0; i < size; ++i) {
      const float normed = (x[i] - mean) * factor;
      y[i] = bias ? std::fma(normed, weight[i], bias[i]) : normed * weight[i];
    }
  }
}

// --- mean ---------------------------------------------------------------------------------------

/// The order of Eigen's sum with SSE: two vectors of four from the first aligned element, then the
/// rest.
SPARSEBIT_INLINE float sum_of(const float* x, int64_t size, int64_t unaligned) {
  constexpr int64_t kFour = 4;
  const int64_t start = std::min(unaligned, size), vectors = (size - start) / kFour;
  if (vectors == 0) {
    float sum = x[0];
    for (int64_t i = 1; i < size; ++i) sum += x[i];
    return sum;
  }
  std::array<float, kFour> even, odd = {};
  const auto add = [&](std::array<float, kFour>& to, int64_t vector) {
    for (size_t i = 0; i < kFour; ++i) to[i] += x[start + kFour * vector + static_cast<int64_t>(i)];
  };
  std::copy_n(x + start, kFour, even.begin());
  if (vectors > 1) {
    std::copy_n(x + start + kFour, kFour, odd.begin());
    const int64_t pairs = vectors / 2 * 2;
    for (int64_t v = 2; v < pairs; v += 2) add(even, v), add(odd, v + 1);
    for (size_t i = 0; i < kFour; ++i) even[i] += odd[i];
    if (pairs < vectors) add(even, pairs);
  }
  float sum = (even[0] + even[2]) + (even[1] + even[3]);
  for (int64_t i = 0; i < start; ++i) sum += x[i];
  for (int64_t i = start + kFour * vectors; i < size; ++i) sum += x[i];
  return sum;
}

void mean_rows(const float* x, float* y, int64_t first, int64_t rows, int64_t size) {
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t unaligned = (4 - (first + row) * size % 4) % 4;
    y[row] = sum_of(x + row * size, size, unaligned) / static_cast<float>(size);
  }
}

/// Only softmax differs between the instruction sets.
constexpr OnnxRuntimeMath kAvx2 = {.exp = exp_all,
                                   .erf = erf_all,
                                   .sigmoid = sigmoid_all,
                                   .tanh = tanh_all,
                                   .softmax = softmax_avx2,
                                   .log_softmax = log_softmax_avx2,
                                   .layer_norm = layer_norm_rows,
                                   .mean = mean_rows};
constexpr OnnxRuntimeMath kAvx512 = {.exp = exp_all,
                                     .erf = erf_all,
                                     .sigmoid = sigmoid_all,
                                     .tanh = tanh_all,
                                     .softmax = softmax_avx512,
                                     .log_softmax = log_softmax_avx512,
                                     .layer_norm = layer_norm_rows,
                                     .mean = mean_rows};

}  // namespace

InstructionSet instruction_set() {
  return __builtin_cpu_supports("avx512f") ? InstructionSet::Avx512 : InstructionSet::Avx2;
}

std::string_view to_string(InstructionSet set) {
  return set == InstructionSet::Avx512 ? "AVX-512" : "AVX2";
}

const OnnxRuntimeMath& onnxruntime_math(InstructionSet set) {
  return set == InstructionSet::Avx512 ? kAvx512 : kAvx2;
}

}  // namespace sparsebit::quant
