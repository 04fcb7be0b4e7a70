#pragma once

#include <vector>

namespace sparsebit::metrics {

/// Pearson's correlation of pairs, from -1 to 1; NaN when one of the lists is constant or has fewer
/// than two numbers. Throws InvalidArgument when the lists differ in length.
double pearson(const std::vector<double>& x, const std::vector<double>& y);

/// Spearman's: Pearson's of the ranks, where equal numbers share the mean of their ranks.
double spearman(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace sparsebit::metrics
