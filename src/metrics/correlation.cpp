#include "sparsebit/metrics/correlation.h"

#include "sparsebit/core/error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace sparsebit::metrics {
namespace {

std::vector<double> deviations(const std::vector<double>& numbers) {
  const double mean =
      std::accumulate(numbers.begin(), numbers.end(), 0.) / static_cast<double>(numbers.size());
  std::vector<double> result = numbers;
  for (double& number : result) number -= mean;
  return result;
}

double dot(const std::vector<double>& x, const std::vector<double>& y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.);
}

std::vector<double> ranks(const std::vector<double>& numbers) {
  std::vector<size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return numbers[a] < numbers[b]; });
  std::vector<double> result(numbers.size());
  for (size_t start = 0; start < order.size();) {
    size_t end = start + 1;
    while (end < order.size() && numbers[order[end]] == numbers[order[start]]) ++end;
    const double shared = static_cast<double>(start + end - 1) / 2;
    for (; start < end; ++start) result[order[start]] = shared;
  }
  return result;
}

bool is_constant(const std::vector<double>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(),
                     [&](double number) { return number == numbers.front(); });
}

void check_pairs(const std::vector<double>& x, const std::vector<double>& y) {
  SPARSEBIT_CHECK(x.size() == y.size(), InvalidArgument,
                  "correlation needs lists of equal length; found lengths ", x.size(), " and ",
                  y.size());
}

}  // namespace

double pearson(const std::vector<double>& x, const std::vector<double>& y) {
  check_pairs(x, y);
  const auto is_number = [](double number) { return std::isfinite(number); };
  const bool defined = x.size() > 1 && !is_constant(x) && !is_constant(y) &&
                       std::all_of(x.begin(), x.end(), is_number) &&
                       std::all_of(y.begin(), y.end(), is_number);
  if (!defined) return std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> a = deviations(x), b = deviations(y);
  return dot(a, b) / (std::sqrt(dot(a, a)) * std::sqrt(dot(b, b)));
}

double spearman(const std::vector<double>& x, const std::vector<double>& y) {
  check_pairs(x, y);
  const auto is_nan = [](double number) { return std::isnan(number); };
  if (std::any_of(x.begin(), x.end(), is_nan) || std::any_of(y.begin(), y.end(), is_nan))
    return std::numeric_limits<double>::quiet_NaN();
  return pearson(ranks(x), ranks(y));
}

}  // namespace sparsebit::metrics
