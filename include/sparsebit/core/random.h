#pragma once

#include <ATen/core/Generator.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sparsebit {

/// A stream of random numbers that depends only on its seed: the same on every platform and with
/// every compiler.
///
/// Give each consumer its own stream with fork(). The numbers of one consumer then do not depend on
/// how many numbers the others draw, or in which order consumers run:
///
///     const Random root(config.seed);
///     Random shuffle = root.fork("shuffle");
///     Random weights = root.fork("weights").fork(layer_name);
///
/// The numbers are xoshiro256** (Blackman and Vigna), its state filled by splitmix64. Not for
/// cryptography.
class Random {
 public:
  explicit Random(uint64_t seed);

  /// The seed this stream was made from.
  uint64_t seed() const { return seed_; }

  /// An independent stream derived from this one's seed and `name`, independent of
  /// the numbers drawn so far.
  Random fork(std::string_view name) const;

  /// The next 64 random bits.
  uint64_t next();

  /// A number in [0, n), each equally likely. Throws InvalidArgument if `n` is 0.
  uint64_t below(uint64_t n);

  /// A number in [0, 1), a multiple of 2^-53.
  double uniform();

  /// The numbers 0 to n - 1 in random order. Throws InvalidArgument if `n` is negative.
  std::vector<int64_t> permutation(int64_t n);

  /// A new CPU generator for ATen functions, seeded with seed(): it gives the same numbers as
  /// libtorch after `torch::manual_seed(seed)`. libtorch uses the low 32 bits of a seed only.
  at::Generator generator() const;

 private:
  uint64_t seed_;
  std::array<uint64_t, 4> state_;
};

}  // namespace sparsebit
