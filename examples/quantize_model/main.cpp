// Quantization from C++: network, config, other bits for one layer, calibration, SNR of each layer,
// saving and loading.

#include "sparsebit/export/quantized_file.h"
#include "sparsebit/quant/error_profiler.h"
#include "sparsebit/quant/quant_model.h"
#include "sparsebit/zoo/zoo.h"

#include <ATen/ATen.h>

#include <filesystem>
#include <iostream>

using namespace sparsebit;  // NOLINT: an example

int main() {
  const zoo::Example network = zoo::make("resnet20");  // or frontends::import_onnx("model.onnx")
  const quant::QConfig config = quant::parse_qconfig(parse_yaml(R"(
SCHEDULE: {FUSE_BN: true}
W: {QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 4}, OBSERVER: {TYPE: mse}}
A: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}}
)",
                                                                "example"));
  quant::QuantModel model(*network.model, config, network.inputs);
  model.layer("linear").weight_quantizer().set_bits(8);  // the last layer; before calibration

  at::manual_seed(1);
  model.prepare_calibration();
  for (int i = 0; i < 4; ++i) model.forward({at::randn({8, 3, 32, 32})});
  model.calc_qparams();
  model.set_quant({.weights = true, .activations = true});

  const at::Tensor x = at::randn({8, 3, 32, 32});
  std::cout << "SNR of each layer, in dB:\n";
  for (const quant::LayerError& error :
       quant::quantization_error(model, {x}, quant::signal_to_noise, quant::ErrorScope::Alone))
    std::cout << "  " << error.layer << "  " << error.value << "\n";

  const auto file = std::filesystem::temp_directory_path() / "example.quantized";
  exports::save_quantized(model, file);
  const std::unique_ptr<quant::QuantModel> again = exports::load_quantized(file);
  std::filesystem::remove(file);

  const at::NoGradGuard no_gradients;
  const bool same = at::equal(again->forward({x}).tensor(), model.forward({x}).tensor());
  std::cout << "the loaded file gives the same results: " << (same ? "yes" : "no") << "\n";
  return same ? 0 : 1;
}
