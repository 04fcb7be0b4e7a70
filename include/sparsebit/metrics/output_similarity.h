#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace sparsebit::metrics {

/// How near an output is to that of a reference model.
struct Similarity {
  int64_t samples = 0;
  double cosine = 0;              ///< mean over samples; 1 for the same direction
  double snr_db = 0;              ///< 10 log10(signal / noise) over all samples; infinite if equal
  double largest_difference = 0;  ///< of two numbers; infinite when one of them is none
  std::optional<double> same_top1 = {};  ///< share of samples; only where outputs are class scores
  int64_t other_shapes = 0;              ///< samples left out: the shapes differ, as after NMS
};

/// Gathers it batch by batch. Class scores have one axis longer than 1 besides the batch.
class OutputSimilarity {
 public:
  /// @param batch  how many samples the tensors hold; those without such a first axis count as one.
  void add(const at::Tensor& reference, const at::Tensor& found, int64_t batch);
  Similarity result() const;

 private:
  void compare_answers(const at::Tensor& reference, const at::Tensor& found);

  int64_t samples_ = 0, other_shapes_ = 0, same_ = 0;
  double cosines_ = 0, signal_ = 0, noise_ = 0, largest_ = 0;
  bool are_scores_ = true;
};

}  // namespace sparsebit::metrics
