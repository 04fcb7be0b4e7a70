#pragma once

#include <cstdint>

// Loops over floats that round to the grid of a quantizer, for processors with and without AVX.

namespace sparsebit::quant {

/// The grid of one scale. Bounds are relative to the zero point: q - zero_point.
struct Grid {
  float scale;
  float low;
  float high;
};

/// out[i] = round(clamp(x[i] / scale, low, high)) * scale
void round_row(const float* x, float* out, int64_t count, const Grid& grid);

/// The same where neighbours are of different channels: grids in three arrays.
void round_channels(const float* x, float* out, int64_t count, const float* scale, const float* low,
                    const float* high);

/// The sum of squares of what round_row() changes.
double squared_error(const float* x, int64_t count, const Grid& grid);

/// The same for numbers that are spread evenly from low[i] to high[i], `density[i]` of them per
/// unit.
double squared_error_of_spread(const double* low, const double* high, const double* density,
                               int64_t count, const Grid& grid);

/// The sum of squares of how far numbers are beyond two bounds.
double squared_excess(const float* x, int64_t count, float low, float high);

/// Gradients of what round_row() computes.
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
