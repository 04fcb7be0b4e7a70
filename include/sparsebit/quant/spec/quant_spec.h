#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sparsebit::quant {

/// The kind of a quantized tensor.
enum class Target { Weight, Activation, Bias };

/// The number of scales of a tensor.
enum class Granularity {
  PerTensor,   ///< one
  PerChannel,  ///< one per channel
};

/// The zero point of a scheme.
enum class Symmetry {
  Symmetric,  ///< signed integers, zero point 0
  Affine,     ///< unsigned integers, any zero point
};

/// The `QSCHEME` of a config.
struct QuantScheme {
  Granularity granularity = Granularity::PerTensor;
  Symmetry symmetry = Symmetry::Symmetric;

  bool operator==(const QuantScheme&) const = default;
};

/// "per-channel-symmetric"
std::string to_string(const QuantScheme& scheme);
/// Throws InvalidArgument, suggesting similar names, for unknown schemes.
QuantScheme scheme_from_text(std::string_view text);

/// Integers from `low` to `high`, both inclusive.
struct IntegerRange {
  int64_t low = 0;
  int64_t high = 0;

  /// Whether low < high and all integers are in the signed or the unsigned type of these bits.
  bool fits(int bits) const;
  /// Whether the range is possible with zero point 0: 0 to n, -n to n or -n - 1 to n.
  bool is_balanced() const;

  bool operator==(const IntegerRange&) const = default;
};

/// How a tensor is quantized, without the scales and zero points.
struct QuantSpec {
  Target target = Target::Activation;
  QuantScheme scheme = {};
  int bits = 8;             ///< 2 to 16
  bool restricted = false;  ///< symmetric integers without the lowest one: -127 to 127
  int64_t group_size = 0;   ///< per channel: number of inputs that share a scale; 0: all
  int64_t channel_axis = 0;
  int scale_bits = 0;      ///< significant bits to which scales are rounded up; 0: all
  bool pot_scale = false;  ///< scales are powers of two: 2^round(log2 scale)
  std::optional<IntegerRange> range = {};  ///< of the integers in use; nullopt: all of `bits`

  bool is_symmetric() const { return scheme.symmetry == Symmetry::Symmetric; }
  bool is_per_channel() const { return scheme.granularity == Granularity::PerChannel; }
  /// Whether it is symmetric with negative integers.
  bool is_signed_symmetric() const { return is_symmetric() && qmin() < 0; }
  /// The smallest and largest integer.
  int64_t qmin() const;
  int64_t qmax() const;
  /// The number of bits that the integers in use need: 7 for -64 to 63.
  int bits_in_use() const;
  /// "int8", "uint4"
  std::string type_name() const;

  bool operator==(const QuantSpec&) const = default;
};

inline constexpr int kLeastBits = 2;
inline constexpr int kMostBits = 16;
inline constexpr int kBitsOfBias = 32;

}  // namespace sparsebit::quant
