// A custom observer, quantizer and quantizable operator, used by name like the built-in ones.

#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"
#include "sparsebit/platforms/platform.h"
#include "sparsebit/quant/observers/observer.h"
#include "sparsebit/quant/quant_model.h"

#include <ATen/ATen.h>

#include <iostream>

using namespace sparsebit;  // NOLINT: an example

/// The range is 0.9 times the smallest and the largest value.
class NineTenths : public quant::Observer {
 public:
  using Observer::Observer;

 private:
  void add(const at::Tensor& x) override { widen(bounds_of_rows(x)); }
  void add_seen_by(const Observer& other) override {
    widen(static_cast<const NineTenths&>(other).seen_);
  }
  quant::ValueRange found() const override {
    return {shaped(seen_.low * 0.9), shaped(seen_.high * 0.9)};
  }

  void widen(const quant::ValueRange& more) {
    const bool first = !has_seen();
    seen_.low = first ? more.low : at::minimum(seen_.low, more.low);
    seen_.high = first ? more.high : at::maximum(seen_.high, more.high);
  }

  quant::ValueRange seen_;
};

/// Scales are powers of two, so that hardware can shift instead of multiply.
class PowerOfTwo : public quant::CloneableQuantizer<PowerOfTwo> {
 public:
  PowerOfTwo(const quant::QuantSpec& spec, const quant::TensorConfig& config)
      : CloneableQuantizer("PowerOfTwo", spec, config) {}

 private:
  quant::QParams find_qparams() override {
    const quant::ValueRange range = observer().range();
    const at::Tensor scale = quant::qparams_from_range(range.low, range.high, spec()).scale;
    return {at::exp2(at::ceil(at::log2(scale))), at::zeros_like(scale)};
  }
  at::Tensor simulate(const at::Tensor& x) const override {
    return quant::fake_quant(x, qparams(), spec());
  }
};

void register_ours() {
  quant::observers().add("nine_tenths", [](const auto& spec, const auto&) {
    return std::make_unique<NineTenths>(spec);
  });
  quant::quantizers().add("power_of_two", [](const auto& spec, const auto& config) {
    return std::make_shared<PowerOfTwo>(spec, config);
  });
  // A platform that quantizes products of two activations as well.
  auto ours = std::make_shared<platforms::Platform>(*platforms::find_platform("virtual"));
  ours->name = "ours";
  ours->operators["mul"] = {.inputs = {"input", "other"}, .joins = true};
  platforms::platforms().add("ours", ours);
}

/// x -> conv(x) * sigmoid(x)
class Gate : public nn::Module {
 public:
  Gate() : Module("Gate", "x") {
    add_module("conv", nn::Conv2d(4, 4, 1));
    add_module("gate", nn::Sigmoid());
  }
  nn::Value forward(const nn::Args& in) override {
    return call("conv", in["x"]) * call("gate", in["x"]);
  }
};

int main() {
  register_ours();
  const quant::QConfig config = quant::parse_qconfig(parse_yaml(R"(
BACKEND: ours
W: {QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 8, TYPE: power_of_two}}
A: {QSCHEME: per-tensor-symmetric, QUANTIZER: {BIT: 8}, OBSERVER: {TYPE: nine_tenths}}
)",
                                                                "example"));
  Gate gate;
  quant::QuantModel model(gate, config);
  model.prepare_calibration();
  const at::Tensor x = at::arange(64, at::kFloat).view({1, 4, 4, 4}) - 31.5;  // -31.5 to 31.5
  model.forward({x});
  model.calc_qparams();
  for (const quant::QuantPoint& point : model.points())
    std::cout << point.value << ": " << point.quantizer->summary() << "\n";

  const at::Tensor range = model.quantizer("x_quantizer").qparams().scale * 255 / 2;
  const at::Tensor exponents = model.layer("conv").weight_quantizer().qparams().scale.log2();
  const bool right = std::abs(range.item<double>() - 0.9 * 31.5) < 1e-4 &&
                     at::equal(exponents, exponents.round()) &&
                     model.layer("mul").input_quantizers().size() == 2;
  std::cout << "observer, quantizer and operator are used: " << (right ? "yes" : "no") << "\n";
  return right ? 0 : 1;
}
