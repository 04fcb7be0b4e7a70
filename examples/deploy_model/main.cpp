// One quantized model in the formats of several vendors' tools, with inputs and the simulation's
// results, which scripts/openvino_check.py and scripts/ncnn_check.py compare with what tools
// compute.
//
//     example_deploy_model FOLDER [ZOO_MODEL] [CONFIG] [FORMAT...]

#include "sparsebit/core/yaml.h"
#include "sparsebit/deploy/deploy.h"
#include "sparsebit/io/npy.h"
#include "sparsebit/zoo/zoo.h"

#include <ATen/ATen.h>

#include <iostream>

using namespace sparsebit;  // NOLINT: an example

constexpr const char* kConfig = R"(
BACKEND: virtual
SCHEDULE: {FUSE_BN: true}
W:
  QSCHEME: per-channel-symmetric
  QUANTIZER: {BIT: 8, RESTRICTED: true}
A:
  QSCHEME: per-tensor-symmetric
  QUANTIZER: {BIT: 8, RESTRICTED: true}
  QADD: {ENABLE_QUANT: true}
)";

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.empty()) {
    std::cerr << "usage: " << argv[0] << " FOLDER [ZOO_MODEL] [CONFIG] [FORMAT...]\n";
    return 1;
  }
  const std::filesystem::path folder = args[0];
  const std::string name = args.size() > 1 ? args[1] : "resnet20";
  const quant::QConfig config = args.size() > 2 ? quant::parse_qconfig(args[2])
                                                : quant::parse_qconfig(parse_yaml(kConfig, ""));
  std::vector<std::string> formats = {"onnx_clean", "openvino_fq", "ncnn_table", "tensorrt_cache"};
  if (args.size() > 3) formats.assign(args.begin() + 3, args.end());

  // 1. Quantize: calibrate with some images, check with others.
  const at::NoGradGuard no_gradients;
  const zoo::Example example = zoo::make(name);
  std::vector<int64_t> shape = example.inputs.at(0).tensor().sizes().vec();
  shape[0] = 8;
  at::Generator random = at::detail::createCPUGenerator(1);
  const at::Tensor seen = at::randn(shape, random), unseen = at::randn(shape, random);
  quant::QuantModel model(*example.model, config, example.inputs);
  model.prepare_calibration();
  model.forward({seen});
  model.calc_qparams();
  model.set_quant({.weights = true, .features = true});

  // 2. Write.
  for (const auto& file : deploy::deploy(model, formats, folder, name, name))
    std::cout << file.string() << "\n";

  // 3. What a tool should compute.
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
