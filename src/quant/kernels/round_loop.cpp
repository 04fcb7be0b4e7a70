#include "quant/kernels/round_loop.h"

#include "quant/kernels/for_each_cpu.h"

namespace sparsebit::quant {
namespace {

/// Adding and subtracting this rounds half to even and is vectorized by compilers. Valid for values
/// below 2^22, which bounds of at most 16 bits are.
constexpr float kRounder = 12582912.f;  // 1.5 * 2^23

/// NaN fails both comparisons and stays NaN.
inline float clamped(float v, float low, float high) {
  v = v < low ? low : v;
  return v > high ? high : v;
}

inline float rounded(float v) { return (v + kRounder) - kRounder; }

/// The derivatives of the result by scale and zero point; `inside`: the derivative by x is 1, else
/// 0.
struct Slopes {
  float scale, zero_point;
  bool inside;
};

inline Slopes slopes_at(float x, float scale, float low, float high) {
  const float v = x / scale;
  const float n = rounded(clamped(v, low - 1, high + 1));
  const bool below = n<low, above = n> high;
  if (below) return {low, -scale, false};
  if (above) return {high, -scale, false};
  return {n - v, 0, true};
}

template <class Difference>
inline __attribute__((always_inline)) double sum_of_squares(const float* x, int64_t count,
                                                            const Difference& difference) {
  constexpr int64_t kLanes = 16;  // independent sums, for vectorization
  constexpr int64_t kRun = 1024;  // short enough to be summed in float32
  double sum = 0;
  for (int64_t start = 0; start < count; start += kRun) {
    const int64_t end = start + kRun < count ? start + kRun : count;
    float sums[kLanes] = {};
    int64_t i = start;
    for (; i + kLanes <= end; i += kLanes) {
      for (int64_t k = 0; k < kLanes; ++k) {
        const float off = difference(x[i + k]);
        sums[k] += off * off;
      }
    }
    for (; i < end; ++i) {
      const float off = difference(x[i]);
      sum += off * off;
    }
    for (const float part : sums) sum += part;
  }
  return sum;
}

/// The integral of (x - rounded x)^2 from 0 to x. A whole step contributes scale^3 / 12; beyond the
/// last integer, the rest is larger than half a step.
class SquaredRounding {
 public:
  explicit SquaredRounding(const Grid& grid)
      : scale_(grid.scale), per_unit_(1. / grid.scale), low_(grid.low), high_(grid.high) {}

  double operator()(double x) const {
    constexpr double kDoubleRounder = 6755399441055744.;  // 1.5 * 2^52
    double whole = (x * per_unit_ + kDoubleRounder) - kDoubleRounder;
    whole = whole < low_ ? low_ : whole;
    whole = whole > high_ ? high_ : whole;
    const double rest = x - whole * scale_;
    return whole * scale_ * scale_ * scale_ * (1. / 12) + rest * rest * rest * (1. / 3);
  }

 private:
  double scale_, per_unit_, low_, high_;
};

}  // namespace

SPARSEBIT_FOR_EACH_CPU
void round_row(const float* x, float* out, int64_t count, const Grid& grid) {
  const float scale = grid.scale, low = grid.low, high = grid.high;
  for (int64_t i = 0; i < count; ++i) out[i] = rounded(clamped(x[i] / scale, low, high)) * scale;
}

SPARSEBIT_FOR_EACH_CPU
void round_channels(const float* x, float* out, int64_t count, const float* scale, const float* low,
                    const float* high) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = rounded(clamped(x[i] / scale[i], low[i], high[i])) * scale[i];
}

SPARSEBIT_FOR_EACH_CPU
double squared_error(const float* x, int64_t count, const Grid& grid) {
  const float scale = grid.scale, low = grid.low, high = grid.high;
  return sum_of_squares(x, count, [=](float number) {
    return number - rounded(clamped(number / scale, low, high)) * scale;
  });
}

SPARSEBIT_FOR_EACH_CPU
double squared_excess(const float* x, int64_t count, float low, float high) {
  return sum_of_squares(x, count,
                        [=](float number) { return number - clamped(number, low, high); });
}

SPARSEBIT_FOR_EACH_CPU
double squared_error_of_spread(const double* low, const double* high, const double* density,
                               int64_t count, const Grid& grid) {
  constexpr int64_t kLanes = 8;
  const SquaredRounding integral(grid);
  double sums[kLanes] = {}, sum = 0;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k)
      sums[k] += (integral(high[i + k]) - integral(low[i + k])) * density[i + k];
  }
  for (; i < count; ++i) sum += (integral(high[i]) - integral(low[i])) * density[i];
  for (const double part : sums) sum += part;
  return sum;
}

SPARSEBIT_FOR_EACH_CPU
RowGradient round_row_backward(const float* x, const float* dy, float* dx, int64_t count,
                               const Grid& grid) {
  RowGradient sums;
  for (int64_t i = 0; i < count; ++i) {
    const Slopes slopes = slopes_at(x[i], grid.scale, grid.low, grid.high);
    dx[i] = slopes.inside ? dy[i] : 0.f;
    sums.scale += static_cast<double>(slopes.scale) * dy[i];
    sums.zero_point += static_cast<double>(slopes.zero_point) * dy[i];
  }
  return sums;
}

SPARSEBIT_FOR_EACH_CPU
void round_channels_backward(const float* x, const float* dy, float* dx, int64_t count,
                             const float* scale, const float* low, const float* high,
                             double* scale_sums, double* zero_point_sums) {
  for (int64_t i = 0; i < count; ++i) {
    const Slopes slopes = slopes_at(x[i], scale[i], low[i], high[i]);
    dx[i] = slopes.inside ? dy[i] : 0.f;
    scale_sums[i] += static_cast<double>(slopes.scale) * dy[i];
    zero_point_sums[i] += static_cast<double>(slopes.zero_point) * dy[i];
  }
}

}  // namespace sparsebit::quant
