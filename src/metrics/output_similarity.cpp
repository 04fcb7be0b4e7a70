#include "sparsebit/metrics/output_similarity.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace sparsebit::metrics {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double cosine(const at::Tensor& a, const at::Tensor& b) {
  const double lengths = a.norm().item<double>() * b.norm().item<double>();
  if (lengths > 0) return std::clamp(a.dot(b).item<double>() / lengths, -1., 1.);
  return a.equal(b) ? 1 : 0;
}

}  // namespace

void OutputSimilarity::add(const at::Tensor& reference, const at::Tensor& found, int64_t batch) {
  if (reference.sizes() != found.sizes()) {
    other_shapes_ += batch;
    return;
  }
  if (reference.numel() == 0) return;
  const bool has_batch = reference.dim() > 0 && reference.size(0) == batch;
  const int64_t rows = has_batch ? batch : 1;
  const at::Tensor a = reference.to(at::kDouble).reshape({rows, -1});
  const at::Tensor b = found.to(at::kDouble).reshape({rows, -1});
  // Equal infinities or NaN on both sides (in a mask, say) count as equal and are excluded from
  // norms.
  const at::Tensor is_finite = a.isfinite().logical_and(b.isfinite());
  const bool same_gaps =
      is_finite.logical_or(a.eq(b)).logical_or(a.ne(a).logical_and(b.ne(b))).all().item<bool>();
  const at::Tensor zero = at::zeros({}, at::kDouble);
  const at::Tensor x = at::where(is_finite, a, zero), y = at::where(is_finite, b, zero);
  for (int64_t row = 0; row < rows; ++row) cosines_ += cosine(x[row], y[row]);
  samples_ += rows;
  signal_ += x.square().sum().item<double>();
  noise_ += same_gaps ? (x - y).square().sum().item<double>() : kInfinity;
  largest_ = std::max(largest_, same_gaps ? (x - y).abs().max().item<double>() : kInfinity);
  compare_answers(reference, found);
}

void OutputSimilarity::compare_answers(const at::Tensor& reference, const at::Tensor& found) {
  const int64_t classes = reference.dim() > 1 ? reference.numel() / reference.size(0) : 0;
  are_scores_ = are_scores_ && classes > 1 && reference.size(1) == classes;
  if (!are_scores_) return;
  same_ += reference.flatten(1).argmax(1).eq(found.flatten(1).argmax(1)).sum().item<int64_t>();
}

Similarity OutputSimilarity::result() const {
  Similarity result{.samples = samples_, .other_shapes = other_shapes_};
  if (samples_ == 0) return result;
  result.cosine = cosines_ / static_cast<double>(samples_);
  result.snr_db = noise_ == 0 ? kInfinity : 10 * std::log10(signal_ / noise_);
  result.largest_difference = largest_;
  if (are_scores_) result.same_top1 = static_cast<double>(same_) / static_cast<double>(samples_);
  return result;
}

}  // namespace sparsebit::metrics
