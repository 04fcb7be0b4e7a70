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
  /// About where all samples are: a point that the moments of all samples have in common, so that
  /// how much they differ does not depend on the mean. Undefined: none.
  at::Tensor pivot = {};  ///< [groups, inputs], float32
  /// Of the products of deviations from the pivot of each sample: sums of their squares off the
  /// diagonal, times the positions; and of the products for the drift, all of them.
  at::Tensor squares = {}, drift_squares = {};
  int64_t samples = 0;

  /// Adds the sums of other samples. Sums of floats depend on the order: call it in the order of
  /// the samples.
  void add(const Moments& other);

  at::Tensor mean() const { return sums / count; }
  at::Tensor drift_mean() const { return drift_sums / count; }
  at::Tensor covariance() const;
  /// E[(t - x) x^T] without the means: how the inputs drifted from those of the float model.
  at::Tensor drift_covariance() const;
  /// E[x x^T]
  at::Tensor second() const { return products / count; }

  /// The share of the covariances, or of those of the drift, that is noise: the variance of their
  /// mean over samples, relative to their squares (Ledoit and Wolf, 2004). 0 to 1, for each group.
  /// A few samples tell little about the covariances of many inputs in other samples.
  at::Tensor noise_share() const;
  at::Tensor drift_noise_share() const;
};

/// a b^T for each group.
at::Tensor outer_product(const at::Tensor& a, const at::Tensor& b);

/// The moments of one sample.
/// @param rows  inputs at each position: [groups, positions, inputs].
/// @param float_rows  those of the float model; undefined: the same.
/// @param pivot  that of the other samples; undefined: the mean of this one.
Moments moments_of(const at::Tensor& rows, const at::Tensor& float_rows = {},
                   const at::Tensor& pivot = {});

}  // namespace sparsebit::quant
