// Writes a quantized model in the formats of a platform, with inputs and the simulation's results,
// which scripts/openvino_check.py and scripts/ncnn_check.py compare with those of the vendors'
// tools.
//
//     example_deploy_model FOLDER [ZOO_MODEL] [PLATFORM]

#include "sparsebit/core/error.h"
#include "sparsebit/deploy/deploy.h"
#include "sparsebit/deploy/prepare.h"
#include "sparsebit/io/npy.h"
#include "sparsebit/zoo/zoo.h"

#include <ATen/ATen.h>

#include <iostream>

using namespace sparsebit;  // NOLINT: an example

namespace {

void deploy_model(const std::filesystem::path& folder, const std::string& name,
                  const std::string& platform) {
  // 1. Quantize: calibrate with one set of samples, check with another.
  const at::NoGradGuard no_gradients;
  const zoo::Example example = zoo::make(name);
  std::vector<int64_t> shape = example.inputs.at(0).tensor().sizes().vec();
  shape[0] = 8;
  at::Generator random = at::detail::createCPUGenerator(1);
  const at::Tensor seen = at::randn(shape, random), unseen = at::randn(shape, random);
  quant::QuantModel model =
      deploy::prepare_by_platform(*example.model, platform, {}, example.inputs);
  model.prepare_calibration();
  model.forward({seen});
  model.calc_qparams();
  model.set_quant({.weights = true, .activations = true});

  // 2. Write the files.
  const std::string title = name + " for " + model.platform().name;
  for (const auto& file : deploy::deploy(model, model.platform().artefacts, folder, name, title))
    std::cout << file.string() << "\n";

  // 3. Write the results that a tool should compute.
  const fx::Value result = model.forward({unseen});
  std::vector<fx::Value> outputs = {result};
  if (result.is_sequence()) outputs.assign(result.items().begin(), result.items().end());
  std::filesystem::create_directories(folder / "inputs");
  std::filesystem::create_directories(folder / "outputs");
  const std::string input = model.module().graph().placeholders().front()->target();
  io::save_npy(folder / "inputs" / (input + ".npy"), unseen);
  for (size_t i = 0; i < outputs.size(); ++i)
    io::save_npy(folder / "outputs" / (std::to_string(i) + ".npy"), outputs[i].tensor());
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.empty()) {
    std::cerr << "usage: " << argv[0] << " FOLDER [ZOO_MODEL] [PLATFORM]\n";
    return 1;
  }
  try {
    deploy_model(args[0], args.size() > 1 ? args[1] : "resnet20",
                 args.size() > 2 ? args[2] : "openvino");
  } catch (const Error& e) {
    std::cerr << "error: " << e.what() << "\n";
    return 1;
  }
}
