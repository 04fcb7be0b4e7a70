// Compares ranges observed sample by sample with ranges of all values at once, on real activations.

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/frontends/onnx.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/io/idx_file.h"
#include "sparsebit/quant/quant_model.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace sparsebit::streaming_test {
namespace {

namespace fs = std::filesystem;
using quant::QuantModel;
using quant::ValueRange;

QuantModel quantized(const fs::path& network, const at::Tensor& example) {
  const auto module = frontends::import_onnx(network);
  return QuantModel(
      *module, quant::parse_qconfig(fs::path(SPARSEBIT_FASHION_MNIST) / "qconfig.yaml"), {example});
}

/// The inputs of each activation quantizer, concatenated over all samples.
std::map<std::string, at::Tensor> values_of(QuantModel& model, const at::Tensor& samples) {
  std::map<std::string, std::vector<at::Tensor>> parts;
  for (const quant::QuantPoint& point : model.points()) {
    if (!point.is_weight()) parts[point.name] = {};
  }
  fx::Interpreter interpreter(model.module(), fx::RunMode::Inference);
  interpreter.add_hook({.before = {}, .after = [&](const fx::Node& node, fx::Value& value) {
                          const auto it = parts.find(node.name());
                          if (it != parts.end()) it->second.push_back(value.tensor());
                        }});
  for (const at::Tensor& batch : samples.split(8)) interpreter.run({batch});
  std::map<std::string, at::Tensor> values;
  for (const auto& [name, list] : parts) values[name] = at::cat(list);
  return values;
}

ValueRange range_of(const at::Tensor& values, quant::QuantSpec spec, const std::string& type) {
  const auto observer = quant::make_observer(spec, {.type = type});
  if (spec.target == quant::Target::Weight) {  // weight observers keep all values
    observer->observe(values);
  } else {
    for (const at::Tensor& sample : values.split(1)) observer->observe(sample);
  }
  return observer->range();
}

/// The largest difference of a range, relative to its width.
double worst(QuantModel& model, const std::map<std::string, at::Tensor>& values,
             const std::string& type, int bits) {
  double worst = 0;
  for (const quant::QuantPoint& point : model.points()) {
    if (point.is_weight()) continue;
    quant::QuantSpec spec = point.quantizer->spec();
    spec.bits = bits;
    const ValueRange streaming = range_of(values.at(point.name), spec, type);
    spec.target = quant::Target::Weight;
    const ValueRange exact = range_of(values.at(point.name), spec, type);
    const double width = (exact.high - exact.low).item<double>();
    for (const at::Tensor& off : {streaming.high - exact.high, streaming.low - exact.low})
      worst = std::max(worst, std::abs(off.item<double>()) / width);
  }
  return worst;
}

void check(QuantModel& model, const at::Tensor& samples) {
  const auto values = values_of(model, samples);
  for (const int bits : {4, 8}) {
    for (const char* type : {"minmax", "kl_histogram"})
      EXPECT_EQ(worst(model, values, type, bits), 0) << type << " " << bits;
    EXPECT_LE(worst(model, values, "percentile", bits), 0.01) << bits;
    // MSE candidates are 1 % of the largest range apart, and neighbours may be equally good.
    EXPECT_LE(worst(model, values, "mse", bits), 0.0125) << bits;
  }
}

TEST(Streaming, FashionMnist) {
  const fs::path images = "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz";
  if (!fs::exists(images))
    GTEST_SKIP() << "there is no " << images << ": install dataset-fashion-mnist";
  const at::Tensor bytes = io::load_idx(images).narrow(0, 0, 64).unsqueeze(1);
  const at::Tensor samples = (bytes.to(at::kFloat) / 255 - 0.286) / 0.353;
  QuantModel model =
      quantized(fs::path(SPARSEBIT_FASHION_MNIST) / "fashion_mnist.onnx", samples.narrow(0, 0, 1));
  check(model, samples);
}

TEST(Streaming, ResNet20) {
  const char* data = std::getenv("SPARSEBIT_DATA");
  if (!data || !*data) GTEST_SKIP() << "SPARSEBIT_DATA is not set: real models not tested";
  const std::string bytes = read_file(fs::path(data) / "datasets/cifar10/test_batch.bin");
  const at::Tensor rows = at::from_blob(const_cast<char*>(bytes.data()), {32, 3073}, at::kByte);
  const at::Tensor pixels = rows.narrow(1, 1, 3072).reshape({-1, 3, 32, 32}).to(at::kFloat);
  const at::Tensor samples = (pixels / 255 - 0.45) / 0.226;
  QuantModel model = quantized(fs::path(data) / "models/cifar10/resnet20_cifar10_bn.onnx",
                               samples.narrow(0, 0, 1));
  check(model, samples);
}

}  // namespace
}  // namespace sparsebit::streaming_test
