#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace sparsebit::quant {

/// Sums over all positions of all samples of a layer's inputs x, and of products of two of them:
/// what rounding the weights W to Q does to the outputs depends only on these,
///
///     E |W x - Q x|^2 = tr (W - Q) E[x x^T] (W - Q)^T
///
/// Groups of a convolution have sums of their own. Memory: two matrices of inputs x inputs for each
/// group, whatever the number of samples.
struct Moments {
  at::Tensor products = {};        ///< sum of x x^T: [groups, inputs, inputs], float64
  at::Tensor sums = {};            ///< sum of x: [groups, inputs], float64
  at::Tensor drift_products = {};  ///< sum of (t - x) x^T, t the inputs of the float model
  at::Tensor drift_sums = {};      ///< sum of t - x
  int64_t count = 0;               ///< positions
  // How much samples differ, for shrinkage(): sums over the samples of the squares of the elements
  // of their own E[x x^T] off the diagonal, and of E[(t - x) x^T], for each group.
  at::Tensor squares = {}, drift_squares = {};
  int64_t samples = 0;

  /// Adds the sums of other samples. Sums of floats depend on the order: call it in the order of
  /// the samples.
  void add(const Moments& other);

  at::Tensor mean() const { return sums / count; }
  at::Tensor drift_mean() const { return drift_sums / count; }
  /// E[x x^T], or the covariance.
  at::Tensor second() const { return products / count; }
  at::Tensor covariance() const;
  /// E[(t - x) x^T]: how the inputs drifted from those of the float model, and the same without the
  /// means.
  at::Tensor drift_second() const { return drift_products / count; }
  at::Tensor drift_covariance() const;

  /// The share of the elements of E[x x^T] off the diagonal, or of E[(t - x) x^T], that is chance,
  /// 0 to 1 for each group: the variance of their mean over samples, relative to their squares
  /// (Ledoit and Wolf, 2004). Few samples for many inputs tell little about other samples.
  at::Tensor chance_in(const at::Tensor& gram) const;
  at::Tensor chance_in_drift(const at::Tensor& drift) const;
};

/// The moments of one sample.
/// @param rows  inputs at each position: [groups, positions, inputs].
/// @param float_rows  those of the float model; undefined: the same.
Moments moments_of(const at::Tensor& rows, const at::Tensor& float_rows = {});

}  // namespace sparsebit::quant
