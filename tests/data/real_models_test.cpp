#include "sparsebit/core/atomic_file.h"
#include "sparsebit/frontends/onnx.h"
#include "sparsebit/frontends/torchscript.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/io/idx_file.h"
#include "sparsebit/io/image_file.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace sparsebit::real_models_test {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kBatch = 100;

struct LabelledData {
  at::Tensor inputs;  // [N, ...], ready for the network
  at::Tensor labels;  // [N]
};

std::shared_ptr<fx::GraphModule> load(const fs::path& path) {
  if (path.extension() == ".onnx") return frontends::import_onnx(path);
  return frontends::import_torchscript(path).module;
}

at::Tensor run(fx::GraphModule& module, const at::Tensor& input) {
  const fx::Value result = fx::Interpreter(module, fx::RunMode::Inference).run({input});
  return result.is_sequence() ? result.items()[0].tensor() : result.tensor();
}

/// Top-1 accuracy in percent.
double accuracy(fx::GraphModule& module, const LabelledData& data, int64_t batch) {
  int64_t right = 0;
  for (int64_t i = 0; i < data.labels.numel(); i += batch) {
    const int64_t count = std::min(batch, data.labels.numel() - i);
    const at::Tensor scores = run(module, data.inputs.narrow(0, i, count)).flatten(1);
    right += scores.argmax(1).eq(data.labels.narrow(0, i, count)).sum().item<int64_t>();
  }
  return 100.0 * static_cast<double>(right) / static_cast<double>(data.labels.numel());
}

at::Tensor normalized(const at::Tensor& pixels) {
  const at::Tensor mean = at::tensor({0.485F, 0.456F, 0.406F}).reshape({3, 1, 1});
  const at::Tensor deviation = at::tensor({0.229F, 0.224F, 0.225F}).reshape({3, 1, 1});
  return (pixels.to(at::kFloat) / 255 - mean) / deviation;
}

class RealModels : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("SPARSEBIT_DATA");
    if (!folder || !*folder) GTEST_SKIP() << "SPARSEBIT_DATA is not set: real models not tested";
    root_ = folder;
  }

  LabelledData cifar10() const {
    const std::string bytes = read_file(root_ / "datasets/cifar10/test_batch.bin");
    const at::Tensor rows =
        at::from_blob(const_cast<char*>(bytes.data()), {10000, 3073}, at::kByte);
    return {normalized(rows.narrow(1, 1, 3072).reshape({-1, 3, 32, 32})),
            rows.select(1, 0).to(at::kLong)};
  }

  LabelledData mnist(int64_t count) const {
    const fs::path folder = root_ / "datasets/mnist";
    const at::Tensor images = io::load_idx(folder / "t10k-images-idx3-ubyte.gz");
    const at::Tensor labels = io::load_idx(folder / "t10k-labels-idx1-ubyte.gz");
    return {images.narrow(0, 0, count).unsqueeze(1).to(at::kFloat),
            labels.narrow(0, 0, count).to(at::kLong)};
  }

  LabelledData imagenet() const {
    const fs::path folder = root_ / "datasets/imagenet-sample";
    std::ifstream table(folder / "labels.tsv");
    std::string line;
    std::getline(table, line);
    std::vector<at::Tensor> images;
    std::vector<int64_t> labels;
    while (std::getline(table, line)) {
      std::istringstream fields(line);
      int64_t label = 0;
      std::string wnid, file;
      fields >> label >> wnid >> file;
      const at::Tensor image = io::load_image(folder / "images" / file);
      const int64_t top = (image.size(1) - 224) / 2, left = (image.size(2) - 224) / 2;
      images.push_back(normalized(image.narrow(1, top, 224).narrow(2, left, 224)));
      labels.push_back(label);
    }
    return {at::stack(images), at::tensor(labels)};
  }

  void expect_same_outputs(const std::vector<std::string>& files, const at::Tensor& input) const {
    at::Tensor first;
    for (const std::string& file : files) {
      const at::Tensor output = run(*load(root_ / "models" / file), input);
      if (!first.defined()) first = output;
      EXPECT_LE((output - first).abs().max().item<double>(),
                1e-5 * std::max(first.abs().max().item<double>(), 1.0))
          << file;
    }
  }

  fs::path root_;
};

TEST_F(RealModels, EveryFileIsRead) {
  for (const auto& entry : fs::recursive_directory_iterator(root_ / "models")) {
    const fs::path& path = entry.path();
    if (path.extension() != ".onnx" && path.extension() != ".pt") continue;
    EXPECT_NO_THROW(load(path)) << path;
  }
}

TEST_F(RealModels, Cifar10Accuracy) {
  const LabelledData data = cifar10();
  for (const char* file : {"resnet20_cifar10.onnx", "resnet20_cifar10_bn.onnx",
                           "resnet20_cifar10.traced.pt", "resnet20_cifar10.scripted.pt"}) {
    EXPECT_NEAR(accuracy(*load(root_ / "models/cifar10" / file), data, kBatch), 91.73, 0.005)
        << file;
  }
}

TEST_F(RealModels, MnistAccuracy) {
  LabelledData data = mnist(3000);
  EXPECT_NEAR(accuracy(*load(root_ / "models/mnist/mnist-8.onnx"), data, 1), 98.1, 0.05);
  data.inputs = (data.inputs / 255 - 0.1307) / 0.3081;
  EXPECT_NEAR(accuracy(*load(root_ / "models/mnist/cnn_mnist_pytorch.onnx"), data, 1), 98.5, 0.05);
}

TEST_F(RealModels, ImagenetAccuracy) {
  const LabelledData data = imagenet();
  const fs::path folder = root_ / "models/imagenet";
  EXPECT_NEAR(accuracy(*load(folder / "mobilenetv2-7.onnx"), data, 1), 83.50, 0.17);
  EXPECT_NEAR(accuracy(*load(folder / "squeezenet1.1.onnx"), data, 1), 63.17, 0.17);
}

TEST_F(RealModels, AllFormsOfANetworkGiveTheSame) {
  expect_same_outputs(
      {"cifar10/resnet20_cifar10.onnx", "cifar10/resnet20_cifar10_bn.onnx",
       "cifar10/resnet20_cifar10.traced.pt", "cifar10/resnet20_cifar10.scripted.pt"},
      at::randn({4, 3, 32, 32}));
  expect_same_outputs({"imagenet/squeezenet1.1.onnx", "torchscript/squeezenet1.1.traced.pt"},
                      at::randn({1, 3, 224, 224}));
  expect_same_outputs({"llm/stories260K.onnx", "llm/stories260K.torchscript.pt"},
                      at::randint(0, 512, {2, 33}, at::kLong));
}

}  // namespace
}  // namespace sparsebit::real_models_test
