#pragma once

#include "sparsebit/export/certificate.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace sparsebit::exports {

/// Accumulates the differences of one output from the expected one, batch by batch. Differences are
/// counted in a histogram with a relative bin width of 1/256, so that memory does not grow.
class DifferenceMeter {
 public:
  DifferenceMeter();

  void add(const at::Tensor& expected, const at::Tensor& found);
  /// @param step  0: 1/255 of the range of the expected values.
  OutputDifference result(const std::string& output, double step) const;

 private:
  void compare_answers(const at::Tensor& expected, const at::Tensor& found);

  std::vector<int64_t> counts_;  // by the upper bits of the difference
  int64_t elements_ = 0;
  double largest_ = 0, lowest_expected_, highest_expected_;
  double signal_ = 0, noise_ = 0;  // sums of squares
  int64_t samples_ = 0, same_ = 0;
  bool are_scores_ = true;
};

}  // namespace sparsebit::exports
