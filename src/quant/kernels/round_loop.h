#pragma once

#include <cstdint>

// Loops over floats that round to the grid of a quantizer, compiled for several instruction sets.

namespace sparsebit::quant {

/// The grid of one scale. Bounds are relative to the zero point: q - zero_point.
struct Grid {
  float scale;
  float low;
  float high;
};

/// out[i] = round(clamp(x[i] / scale, low, high)) * scale
void round_row(const float* x, float* out, int64_t count, const Grid& grid);

/// The same with one grid per element, for interleaved channels.
void round_channels(const float* x, float* out, int64_t count, const float* scale, const float* low,
                    const float* high);

/// The sum of squared errors of round_row().
double squared_error(const float* x, int64_t count, const Grid& grid);

/// The same for values evenly distributed from low[i] to high[i], with `density[i]` values per
/// unit.
double squared_error_of_spread(const double* low, const double* high, const double* density,
                               int64_t count, const Grid& grid);

/// The sum of squared clipping errors of two bounds.
double squared_excess(const float* x, int64_t count, float low, float high);

/// Gradients of the parameters of round_row().
struct RowGradient {
  double scale = 0;
  double zero_point = 0;
};

/// dx[i] = dy[i] where x[i] was not clamped, else 0. Returns the sums for scale and zero point.
RowGradient round_row_backward(const float* x, const float* dy, float* dx, int64_t count,
                               const Grid& grid);

/// The same for round_channels(). Adds to the sums of each channel.
void round_channels_backward(const float* x, const float* dy, float* dx, int64_t count,
                             const float* scale, const float* low, const float* high,
                             double* scale_sums, double* zero_point_sums);

}  // namespace sparsebit::quant
