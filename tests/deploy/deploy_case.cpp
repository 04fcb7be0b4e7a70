#include "deploy/deploy_case.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/yaml.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>

namespace sparsebit::deploy::test {

Net::Net() : Module("Net", "x") {
  add_module("stem", nn::Conv2d(3, 8, 3));
  add_module("bn", nn::BatchNorm2d(8));
  add_module("relu", nn::ReLU());
  add_module("a", nn::Conv2d(8, 8, 1));
  add_module("pool", nn::MaxPool2d(2));
  add_module("up", nn::ConvTranspose2d(8, 6, 2, {{"stride", 2}}));
  add_module("dw", nn::Conv2d(6, 6, 3, {{"groups", 6}}));
  add_module("relu6", nn::ReLU6());
  add_module("fc", nn::Linear(6, 5));
  add_module("fc_bn", nn::BatchNorm1d(5));
}

nn::Value Net::forward(const nn::Args& in) {
  const nn::Value x = call("relu", call("bn", call("stem", in["x"])));
  const nn::Value sum = call("relu", call("a", x) + x);
  const nn::Value y = call("relu6", call("dw", call("up", call("pool", sum))));
  return call("fc_bn", call("fc", nn::flatten(nn::adaptive_avg_pool2d(y, 1), 1)));
}

const at::Tensor& samples() {
  static const at::Tensor x = at::randn({2, 3, 10, 10}, at::detail::createCPUGenerator(3));
  return x;
}

quant::QConfig config_of(const std::string& weights, const std::string& activations,
                         const std::string& more) {
  const auto side = [&](const std::string& scheme, const std::string& extra) {
    return "{QSCHEME: " + scheme + ", QUANTIZER: {" + more + "}, OBSERVER: {TYPE: minmax}" + extra +
           "}\n";
  };
  return quant::parse_qconfig(
      parse_yaml("SCHEDULE: {FUSE_BN: true}\nW: " + side(weights, "") +
                     "A: " + side(activations, ", QADD: {ENABLE_QUANT: true}"),
                 "test.yaml"));
}

quant::QuantModel calibrated(fx::Module& network, const quant::QConfig& config,
                             const at::Tensor& x) {
  const at::NoGradGuard no_gradients;
  quant::QuantModel model(network, config, {x});
  model.prepare_calibration();
  model.forward({x});
  model.calc_qparams();
  model.set_quant({.weights = true, .activations = true});
  return model;
}

quant::QuantModel calibrated_net(const quant::QConfig& config) {
  Net net;
  nn::reset_parameters(net, 1);
  net.eval();
  return calibrated(net, config);
}

quant::QConfig symmetric_config() {
  return config_of("per-channel-symmetric", "per-tensor-symmetric", "BIT: 8, RESTRICTED: true");
}

quant::QConfig affine_config() { return config_of("per-tensor-affine", "per-tensor-affine"); }

quant::QConfig power_of_two_config() {
  return config_of("per-tensor-symmetric", "per-tensor-symmetric", "BIT: 8, SCALE_BITS: 1");
}

const TensorRange& range_of(const DeployModel& model, const std::string& tensor) {
  for (const TensorRange& range : model.ranges()) {
    if (range.tensor == tensor) return range;
  }
  throw Error(ErrorKind::InvalidArgument, "no range of '" + tensor + "'");
}

}  // namespace sparsebit::deploy::test
