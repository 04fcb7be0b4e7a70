#include "quant/rounding/layer_rounding.h"

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/fx/parser.h"
#include "sparsebit/fx/resolve.h"
#include "sparsebit/quant/quantizers/quantizer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::quant::layer_rounding_test {
namespace {

/// A linear layer with 12 inputs and 4-bit weights, and inputs that drifted from those of the float
/// model.
class LayerRounding : public testing::Test {
 protected:
  LayerRounding()
      : module_(fx::parse_graph("%x = input()\n%w = input()\n"
                                "%y = torch.nn.functional.linear(%x, %w)\nreturn %y"),
                "Test"),
        matrix_(*fx::resolve(*module_.graph().find("y"), module_), at::zeros({100, 12})) {
    at::manual_seed(1);
    weight_ = at::randn({100, 12});
    float_inputs_ = at::randn({1, 600, 12}) + 2 * at::randn({1, 600, 1}) + 3;
    inputs_ = at::round(float_inputs_ * 8) / 8 + 0.05;
    for (int64_t start = 0; start < 600; start += 20)
      moments_.add(moments_of(inputs_.narrow(1, start, 20), float_inputs_.narrow(1, start, 20),
                              moments_.pivot));
    TensorConfig config;
    config.quantizer.bits = 4;
    quantizer_ = make_quantizer({.target = Target::Weight,
                                 .scheme = {Granularity::PerChannel, Symmetry::Symmetric},
                                 .bits = 4},
                                config);
    quantizer_->observe(weight_);
    quantizer_->calibrate();
  }

  at::Tensor values() const {
    return quantizer_->integers(weight_) * quantizer_->qparams().scale.unsqueeze(1);
  }
  /// The outputs of the float layer minus those of the quantized layer: [positions, outputs].
  at::Tensor errors() const {
    return at::matmul(float_inputs_[0], weight_.t()) - at::matmul(inputs_[0], values().t());
  }
  double noise() const { return errors().square().mean().item<double>(); }
  double deviation() const { return errors().var(0, false).mean().item<double>(); }

  fx::GraphModule module_;
  LayerMatrix matrix_;
  at::Tensor weight_, inputs_, float_inputs_;
  Moments moments_;
  QuantizerPtr quantizer_;
};

TEST_F(LayerRounding, OutputsAreCloserToThoseOfTheFloatModel) {
  const double nearest = noise();
  quantizer_->set_integers(rounded_to_moments(weight_, matrix_, moments_, *quantizer_, false));
  EXPECT_LT(noise(), 0.6 * nearest);
}

/// If the bias takes the mean error, deviations from it become smaller still.
TEST_F(LayerRounding, ACorrectedBiasLeavesOnlyDeviations) {
  quantizer_->set_integers(rounded_to_moments(weight_, matrix_, moments_, *quantizer_, false));
  const double with_mean = deviation();
  quantizer_->set_integers(rounded_to_moments(weight_, matrix_, moments_, *quantizer_, true));
  EXPECT_LT(deviation(), with_mean);
}

TEST_F(LayerRounding, TheMeanErrorIsThatOfTheOutputs) {
  const at::Tensor expected = errors().mean(0);
  EXPECT_TRUE(at::allclose(mean_error(weight_, values(), matrix_, moments_), expected, 1e-3, 1e-4));
}

}  // namespace
}  // namespace sparsebit::quant::layer_rounding_test
