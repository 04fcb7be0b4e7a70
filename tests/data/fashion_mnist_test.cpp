// The network of examples/fashion_mnist on the images of Debian's dataset-fashion-mnist.

#include "sparsebit/export/quantized_file.h"
#include "sparsebit/frontends/onnx.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/io/idx_file.h"
#include "sparsebit/quant/quant_model.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::fashion_mnist_test {
namespace {

namespace fs = std::filesystem;
using quant::QuantModel;

constexpr const char* kImages = "/usr/share/datasets/fashion-mnist";

class FashionMnist : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kImages))
      GTEST_SKIP() << "there are no images in " << kImages << ": install dataset-fashion-mnist";
    network_ = frontends::import_onnx(fs::path(SPARSEBIT_FASHION_MNIST) / "fashion_mnist.onnx");
    labels_ = io::load_idx(fs::path(kImages) / "t10k-labels-idx1-ubyte.gz").to(at::kLong);
  }

  static at::Tensor images(const std::string& part, int64_t count) {
    const at::Tensor bytes = io::load_idx(fs::path(kImages) / (part + "-images-idx3-ubyte.gz"));
    return (bytes.narrow(0, 0, count).unsqueeze(1).to(at::kFloat) / 255 - 0.286) / 0.353;
  }

  QuantModel calibrated(const std::string& observer, int bits) const {
    quant::QConfig config =
        quant::parse_qconfig(fs::path(SPARSEBIT_FASHION_MNIST) / "qconfig.yaml");
    config.activation.observer.type = config.weight.observer.type = observer;
    config.activation.quantizer.bits = config.weight.quantizer.bits = bits;
    const at::Tensor samples = images("train", 64);
    QuantModel model(*network_, config, {samples.narrow(0, 0, 1)});
    model.prepare_calibration();
    model.forward({samples});
    model.calc_qparams();
    return model;
  }

  /// Top-1 accuracy in percent on the first 2,000 test images.
  double accuracy(fx::GraphModule& module) const {
    const at::Tensor inputs = images("t10k", 2000);
    double right = 0;
    for (int64_t i = 0; i < 2000; i += 100) {
      const at::Tensor scores =
          fx::Interpreter(module, fx::RunMode::Inference).run({inputs.narrow(0, i, 100)}).tensor();
      right += scores.argmax(1).eq(labels_.narrow(0, i, 100)).sum().item<double>();
    }
    return right / 20;
  }

  std::shared_ptr<fx::GraphModule> network_;
  at::Tensor labels_;
};

TEST_F(FashionMnist, EightBitsLoseAlmostNothing) {
  const double before = accuracy(*network_);
  EXPECT_GT(before, 91);
  for (const char* observer : {"minmax", "percentile", "mse", "kl_histogram"}) {
    QuantModel model = calibrated(observer, 8);
    model.set_quant({.weights = true, .activations = true});
    EXPECT_GT(accuracy(model.module()), before - 0.5) << observer;
  }
}

}  // namespace
}  // namespace sparsebit::fashion_mnist_test
