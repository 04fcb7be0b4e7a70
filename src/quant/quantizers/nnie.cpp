#include "quant/quantizers/all_quantizers.h"
#include "quant/quantizers/given_slope.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <cmath>

namespace sparsebit::quant {
namespace {

constexpr double kPerOctave = 16;  // codes per power of two
constexpr int kMost = 127;         // the highest code

/// The number format of HiSilicon's NNIE: a sign and a 7-bit code for the magnitude
/// 2^((code + offset) / 16); the largest magnitude has the highest code. The lowest code of
/// negative numbers is used for zero.
class Nnie : public CloneableQuantizer<Nnie> {
 public:
  Nnie(const QuantSpec& spec, const TensorConfig& config)
      : CloneableQuantizer("quant.Nnie", spec, config) {
    SPARSEBIT_CHECK(!spec.is_per_channel() && spec.is_symmetric() && spec.bits == 8,
                    InvalidArgument, "nnie needs 8 bits and per-tensor-symmetric, not ", spec.bits,
                    " bits and ", to_string(spec.scheme));
    add_buffer("data_max", at::ones({}));
  }

  bool has_uniform_steps() const override { return false; }
  QParams covering_qparams() const override {
    const at::Tensor scale = find_tensor("data_max")->detach() / kMost;
    return {scale, at::zeros_like(scale)};
  }

 private:
  QParams find_qparams() override {
    const ValueRange range = observer().range();
    add_buffer("data_max", at::maximum(-range.low, range.high).clamp_min(kLeastScale));
    return {at::ones({}), at::zeros({})};
  }

  /// In double precision, because codes are rounded logarithms.
  at::Tensor simulate(const at::Tensor& x) const override {
    const double largest = find_tensor("data_max")->item<double>();
    const double offset = std::nearbyint(kPerOctave * std::log2(largest)) - kMost;
    const at::Tensor exact = x.detach().to(at::kDouble);
    const at::Tensor code = at::round(kPerOctave * at::log2(exact.abs()) - offset);
    const auto magnitude = [&](int least) {
      return at::exp2((code.clamp(least, kMost) + offset) / kPerOctave);
    };
    // Beyond half of the smallest magnitude.
    const auto is_beyond_half = [&](const at::Tensor& numbers, int least) {
      return numbers.gt(std::exp2((least + offset - kPerOctave) / kPerOctave));
    };
    at::Tensor result = at::where(at::isnan(exact), exact, at::zeros_like(exact));
    result = at::where(is_beyond_half(exact, 0), magnitude(0), result);
    result = at::where(is_beyond_half(-exact, 1), -magnitude(1), result);
    return with_slope(x, result.to(x.scalar_type()), at::ones({}));
  }
};

}  // namespace

QuantizerPtr make_nnie(const QuantSpec& spec, const TensorConfig& config) {
  return std::make_shared<Nnie>(spec, config);
}

}  // namespace sparsebit::quant
