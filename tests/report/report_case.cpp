#include "report/report_case.h"

#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>

namespace sparsebit::report::test {
namespace {

class Net : public nn::Module {
 public:
  Net() : Module("Net", "x") {
    add_module("conv", nn::Conv2d(3, 4, 3));
    add_module("relu", nn::ReLU());
    add_module("tanh", nn::Tanh());
    add_module("fc", nn::Linear(4 * 4 * 4, 5));
  }
  nn::Value forward(const nn::Args& in) override {
    return call("fc", nn::flatten(call("tanh", call("relu", call("conv", in["x"]))), 1));
  }
};

}  // namespace

quant::QuantModel calibrated_net(const std::string& platform) {
  Net net;
  const at::Tensor x = at::randn({1, 3, 6, 6}, at::detail::createCPUGenerator(1));
  quant::QuantModel model(net, quant::default_qconfig(platforms::find_platform(platform)), {x});
  model.prepare_calibration();
  model.forward({x});
  model.calc_qparams();
  return model;
}

}  // namespace sparsebit::report::test
