#include "quant/quantizers/all_quantizers.h"

#include "sparsebit/core/error.h"

namespace sparsebit::quant {
namespace {

class Uniform : public CloneableQuantizer<Uniform> {
 public:
  Uniform(const QuantSpec& spec, const TensorConfig& config, const char* type = "quant.Uniform")
      : CloneableQuantizer(type, spec, config) {}

  bool is_scale_free() const override { return !spec().pot_scale; }

 private:
  at::Tensor simulate(const at::Tensor& x) const override {
    return fake_quant(x, qparams(), spec());
  }
};

/// Rounds to nearest until its integers are learned from the inputs of the layer.
class Gptq : public Uniform {
 public:
  Gptq(const QuantSpec& spec, const TensorConfig& config) : Uniform(spec, config, "quant.Gptq") {
    SPARSEBIT_CHECK(spec.target == Target::Weight, InvalidArgument, "gptq is for weights only");
  }

  bool learns_rounding() const override { return true; }

 protected:
  fx::ModulePtr shallow_copy() const override { return std::make_shared<Gptq>(*this); }
};

}  // namespace

QuantizerPtr make_uniform(const QuantSpec& spec, const TensorConfig& config) {
  return std::make_shared<Uniform>(spec, config);
}

QuantizerPtr make_gptq(const QuantSpec& spec, const TensorConfig& config) {
  return std::make_shared<Gptq>(spec, config);
}

}  // namespace sparsebit::quant
