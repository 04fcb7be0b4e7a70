#pragma once

#include <vector>

namespace sparsebit::metrics {

/// Pearson's correlation of pairs, from -1 to 1; NaN when one of the lists is constant or has fewer
/// than two numbers. Throws InvalidArgument when the lists differ in length.
double pearson(const std::vector<double>& x, const std::vector<double>& y);

/// Spearman's rank correlation: Pearson's of the ranks, with mean ranks for ties.
double spearman(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace sparsebit::metrics
