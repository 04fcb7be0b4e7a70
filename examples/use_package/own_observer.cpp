// A project of its own adds an observer. It is registered by name before the first config is read,
// and used by that name like those that come with the library.

#include <sparsebit/quant/observers/observer.h>
#include <sparsebit/quant/quant_model.h>
#include <sparsebit/zoo/zoo.h>

#include <ATen/ATen.h>

#include <cmath>
#include <iostream>

using namespace sparsebit;  // NOLINT: an example

namespace {

/// The mean of the smallest and of the largest numbers of all samples.
class MeanRange : public quant::Observer {
 public:
  using Observer::Observer;

 private:
  // A sample. Keep numbers, not tensors: there may be many samples.
  void add(const at::Tensor& x) override {
    const quant::ValueRange bounds = bounds_of_rows(x);
    sum({bounds.low.to(at::kDouble), bounds.high.to(at::kDouble)}, 1);
  }
  // What another thread saw: the result must not depend on who saw what.
  void add_seen_by(const Observer& other) override {
    const auto& seen = static_cast<const MeanRange&>(other);
    sum(seen.sums_, seen.samples_);
  }
  quant::ValueRange found() const override {
    const auto mean = [this](const at::Tensor& sum) {
      return shaped((sum / samples_).to(at::kFloat));
    };
    return {mean(sums_.low), mean(sums_.high)};
  }

  void sum(const quant::ValueRange& more, int64_t samples) {
    sums_.low = samples_ == 0 ? more.low : sums_.low + more.low;
    sums_.high = samples_ == 0 ? more.high : sums_.high + more.high;
    samples_ += samples;
  }

  quant::ValueRange sums_;  // doubles, one for each scale
  int64_t samples_ = 0;
};

}  // namespace

int main() {
  quant::observers().add("mean_range", [](const quant::QuantSpec& spec, const auto& /*config*/) {
    return std::make_unique<MeanRange>(spec);
  });

  const zoo::Example network = zoo::make("resnet20");
  quant::QConfig config = quant::default_qconfig("onnxruntime");
  config.set(quant::Target::Activation, "OBSERVER.TYPE", "mean_range");  // or in a YAML file
  quant::QuantModel model(*network.model, config, network.inputs);
  model.prepare_calibration();
  const at::Tensor image = at::ones({1, 3, 32, 32});
  model.forward({at::cat({image, 3 * image})});  // the largest numbers are 1 and 3
  model.calc_qparams();

  const double scale = model.quantizer("x_quantizer").qparams().scale.item<double>();
  std::cout << "own observer: range up to " << scale * 255 << "\n";
  return std::abs(scale * 255 - 2) < 0.01 ? 0 : 1;  // scales of this platform have few bits
}
