#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace sparsebit::metrics {

/// Similarity of an output to that of a reference model.
struct Similarity {
  int64_t samples = 0;
  double cosine = 0;  ///< mean over samples; 1 for the same direction
  double snr_db = 0;  ///< 10 log10(signal / noise) over all samples; infinite if equal
  double largest_difference =
      0;  ///< largest absolute difference; infinite if NaN or infinities differ
  std::optional<double> same_top1 =
      {};                    ///< share of samples with the same top-1 class; only for class scores
  int64_t other_shapes = 0;  ///< samples skipped because the shapes differ, as after NMS
};

/// Accumulates a Similarity batch by batch. Outputs are class scores if they have one axis longer
/// than 1 besides the batch.
class OutputSimilarity {
 public:
  /// @param batch  number of samples; tensors whose first axis has another size count as one
  /// sample.
  void add(const at::Tensor& reference, const at::Tensor& found, int64_t batch);
  Similarity result() const;

 private:
  void compare_answers(const at::Tensor& reference, const at::Tensor& found);

  int64_t samples_ = 0, other_shapes_ = 0, same_ = 0;
  double cosines_ = 0, signal_ = 0, noise_ = 0, largest_ = 0;
  bool are_scores_ = true;
};

}  // namespace sparsebit::metrics
