#include "quant/quantizers/all_quantizers.h"

namespace sparsebit::quant {
namespace {

class Uniform : public CloneableQuantizer<Uniform> {
 public:
  Uniform(const QuantSpec& spec, const TensorConfig& config)
      : CloneableQuantizer("quant.Uniform", spec, config) {}

  bool is_scale_free() const override { return !spec().pot_scale; }

 private:
  at::Tensor simulate(const at::Tensor& x) const override {
    return fake_quant(x, qparams(), spec());
  }
};

}  // namespace

QuantizerPtr make_uniform(const QuantSpec& spec, const TensorConfig& config) {
  return std::make_shared<Uniform>(spec, config);
}

}  // namespace sparsebit::quant
