// What main.cpp does in one call, with the whole library: a program can look at every step and
// change it.
//
//     example_quantize_step_by_step MODEL IMAGES-idx3-ubyte.gz OUT.onnx PREPROCESS.yaml

#include <sparsebit/export/certificate.h>
#include <sparsebit/export/quantized_onnx.h>
#include <sparsebit/frontends/onnx.h>
#include <sparsebit/io/idx_file.h>
#include <sparsebit/io/preprocess.h>
#include <sparsebit/quant/quant_model.h>
#include <sparsebit/report/coverage.h>

#include <ATen/ATen.h>

#include <iostream>

using namespace sparsebit;  // NOLINT: an example

namespace {

/// 64 grey images, [64, 1, 28, 28], prepared for the model.
at::Tensor load_images(const std::string& file, const std::string& preprocess) {
  const io::Preprocess prepare = io::read_preprocess(read_yaml(preprocess));
  std::vector<at::Tensor> images;
  for (const at::Tensor& bytes : io::load_idx(file).narrow(0, 0, 64).unbind())
    images.push_back(prepare.apply(bytes.unsqueeze(0)));
  return at::stack(images);
}

void quantize(const std::string& file, const at::Tensor& images, const std::string& output) {
  const at::NoGradGuard no_gradients;
  const auto network = frontends::import_onnx(file);

  quant::QConfig config = quant::default_qconfig("onnxruntime");
  config.set(quant::Target::Weight, "OBSERVER.TYPE", "mse");  // as in a YAML file
  quant::QuantModel model(*network, config, {images.narrow(0, 0, 1)});

  model.prepare_calibration();
  for (const at::Tensor& batch : images.split(16)) model.forward({batch});
  model.calc_qparams();
  model.set_quant({.weights = true, .activations = true});
  for (const quant::QuantPoint& point : model.points())
    std::cout << "  " << point.value << ": " << point.quantizer->summary() << "\n";
  const report::Coverage coverage = report::coverage_of(model);
  std::cout << "int8 coverage: " << 100 * coverage.share_of_macs() << " % of MACs\n";

  exports::export_onnx(model, output, {.opset = 17});

  int64_t start = 0;
  const exports::Certificate certificate = exports::certify(
      {.file = output, .original = file, .simulation = &model},
      [&](int64_t /*fixed batch size: this model has none*/) -> std::vector<at::Tensor> {
        if (start == images.size(0)) return {};
        start += 16;
        return {images.narrow(0, start - 16, 16)};
      });
  std::cout << to_text(certificate);
  if (!certificate.passed()) throw std::runtime_error("the certificate did not pass");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: " << argv[0] << " MODEL IMAGES-idx3-ubyte.gz OUT.onnx PREPROCESS.yaml\n";
    return 2;
  }
  try {
    quantize(argv[1], load_images(argv[2], argv[4]), argv[3]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}
