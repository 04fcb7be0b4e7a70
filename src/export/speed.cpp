#include "sparsebit/export/speed.h"

#include "sparsebit/core/error.h"

#include <algorithm>
#include <cmath>

namespace sparsebit::exports {
namespace {

/// Linear interpolation between neighbouring values.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

MeasuredTime summary_of(const RunTimes& times) {
  return {quartiles_of(times.wall), quartiles_of(times.cpu)};
}

}  // namespace

Quartiles quartiles_of(std::vector<double> values) {
  SPARSEBIT_CHECK(!values.empty(), InvalidArgument, "quartiles_of: there are no values");
  std::sort(values.begin(), values.end());
  return {values.front(), quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)};
}

bool MeasuredSpeed::is_stable() const {
  constexpr double kSame = 1.15;  // ratios of an idle machine are within a few percent
  const auto [least, most] = std::minmax({ratio(), median_ratio(), cpu_ratio()});
  return std::isfinite(most) && least > 0 && most <= kSame * least;
}

MeasuredSpeed measured_speed(const RunTimes& original, const RunTimes& quantized) {
  SPARSEBIT_CHECK(original.wall.size() == quantized.wall.size(), InvalidArgument,
                  "measured_speed: both models take turns; got ", original.wall.size(), " and ",
                  quantized.wall.size(), " runs");
  return {summary_of(original), summary_of(quantized), static_cast<int>(original.wall.size())};
}

}  // namespace sparsebit::exports
