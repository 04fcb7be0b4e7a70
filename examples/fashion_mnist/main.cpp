// Trains the small network that `make demo` quantizes, on Fashion-MNIST (Debian package
// dataset-fashion-mnist), and writes it as ONNX.
//
//     example_fashion_mnist OUT.onnx [EPOCHS] [IMAGES] [FOLDER]

#include "sparsebit/core/progress.h"
#include "sparsebit/export/onnx.h"
#include "sparsebit/fx/tracer.h"
#include "sparsebit/io/idx_file.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <torch/optim/sgd.h>

#include <cmath>
#include <iostream>
#include <numbers>

using namespace sparsebit;  // NOLINT: an example

namespace {

/// A residual block with two convolutions.
class Block : public nn::Cloneable<Block> {
 public:
  Block(int64_t in, int64_t out, int64_t stride) : Cloneable("Block", "x") {
    add_module("conv1", convolution(in, out, 3, stride));
    add_module("bn1", nn::BatchNorm2d(out));
    add_module("conv2", convolution(out, out, 3, 1));
    add_module("bn2", nn::BatchNorm2d(out));
    if (stride == 1) return;
    add_module("shortcut", convolution(in, out, 1, stride));
    add_module("shortcut_bn", nn::BatchNorm2d(out));
  }

  nn::Value forward(const nn::Args& in) override {
    nn::Value past = in["x"];
    if (children().contains("shortcut")) past = call("shortcut_bn", call("shortcut", past));
    const nn::Value y = nn::relu(call("bn1", call("conv1", in["x"])));
    return nn::relu(call("bn2", call("conv2", y)) + past);
  }

  static nn::ModulePtr convolution(int64_t in, int64_t out, int64_t size, int64_t stride) {
    return nn::Conv2d(in, out, size, {{"stride", stride}, {"padding", size / 2}, {"bias", false}});
  }
};

class Network : public nn::Cloneable<Network> {
 public:
  Network() : Cloneable("Network", "image") {
    add_module("stem", Block::convolution(1, 16, 3, 1));
    add_module("bn", nn::BatchNorm2d(16));
    add_module("block1", std::make_shared<Block>(16, 16, 1));
    add_module("block2", std::make_shared<Block>(16, 32, 2));
    add_module("block3", std::make_shared<Block>(32, 64, 2));
    add_module("pool", nn::AdaptiveAvgPool2d(nn::Tuple{1, 1}));
    add_module("flatten", nn::Flatten());
    add_module("head", nn::Linear(64, 10));
  }

  nn::Value forward(const nn::Args& in) override {
    nn::Value x = nn::relu(call("bn", call("stem", in["image"])));
    for (const char* block : {"block1", "block2", "block3"}) x = call(block, x);
    return call("head", call("flatten", call("pool", x)));
  }
};

struct Images {
  at::Tensor pixels;  // [count, 1, 28, 28], as in preprocess.yaml
  at::Tensor labels;
};

Images load(const std::string& folder, const std::string& part, int64_t most) {
  const at::Tensor bytes = io::load_idx(folder + "/" + part + "-images-idx3-ubyte.gz");
  const at::Tensor labels = io::load_idx(folder + "/" + part + "-labels-idx1-ubyte.gz");
  const int64_t count = std::min(most, bytes.size(0));
  const at::Tensor pixels = bytes.narrow(0, 0, count).unsqueeze(1).to(at::kFloat) / 255;
  return {(pixels - 0.286) / 0.353, labels.narrow(0, 0, count).to(at::kLong)};
}

/// Augmentation: half of the images mirrored, the batch shifted by up to two pixels.
at::Tensor varied(const at::Tensor& images) {
  const at::Tensor mirrored = at::rand({images.size(0), 1, 1, 1}).lt(0.5);
  const at::Tensor padded = at::constant_pad_nd(at::where(mirrored, images.flip(3), images),
                                                {2, 2, 2, 2}, -0.286 / 0.353);
  const int64_t dy = at::randint(5, {1}).item<int64_t>(), dx = at::randint(5, {1}).item<int64_t>();
  return padded.narrow(2, dy, 28).narrow(3, dx, 28);
}

void train(nn::Module& model, const Images& data, int64_t epochs) {
  constexpr int64_t kBatch = 128;
  constexpr double kRate = 0.1;
  std::vector<at::Tensor> parameters;
  for (const auto& item : model.named_parameters()) parameters.push_back(*item);
  torch::optim::SGD optimizer(
      parameters, torch::optim::SGDOptions(kRate).momentum(0.9).weight_decay(5e-4).nesterov(true));
  const int64_t batches = data.labels.size(0) / kBatch;
  Progress progress("training", epochs * batches);
  model.train();
  at::Tensor order;
  for (int64_t step = 0; step < epochs * batches; ++step) {
    if (step % batches == 0) order = at::randperm(data.labels.size(0));
    const double done = static_cast<double>(step) / static_cast<double>(epochs * batches);
    for (auto& group : optimizer.param_groups())
      group.options().set_lr(kRate * 0.5 * (1 + std::cos(std::numbers::pi * done)));
    const at::Tensor chosen = order.narrow(0, step % batches * kBatch, kBatch);
    const at::Tensor scores = model(varied(data.pixels.index_select(0, chosen))).tensor();
    optimizer.zero_grad();
    at::cross_entropy_loss(scores, data.labels.index_select(0, chosen)).backward();
    optimizer.step();
    progress.advance();
  }
  progress.finish();
}

double accuracy(nn::Module& model, const Images& data) {
  const at::NoGradGuard no_gradients;
  model.eval();
  double right = 0;
  for (int64_t i = 0; i < data.labels.size(0); i += 500) {
    const int64_t count = std::min<int64_t>(500, data.labels.size(0) - i);
    const at::Tensor scores = model(data.pixels.narrow(0, i, count)).tensor();
    right += scores.argmax(1).eq(data.labels.narrow(0, i, count)).sum().item<double>();
  }
  return 100 * right / static_cast<double>(data.labels.size(0));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: example_fashion_mnist OUT.onnx [EPOCHS] [IMAGES] [FOLDER]\n";
    return 2;
  }
  try {
    const int64_t epochs = argc > 2 ? std::stoll(argv[2]) : 12;
    const int64_t images = argc > 3 ? std::stoll(argv[3]) : 60000;
    const std::string folder = argc > 4 ? argv[4] : "/usr/share/datasets/fashion-mnist";
    at::manual_seed(1);
    Network model;
    nn::reset_parameters(model, /*seed=*/1);
    train(model, load(folder, "train", images), epochs);
    std::cout << "accuracy on test images: " << accuracy(model, load(folder, "t10k", images))
              << " %\n";
    exports::export_onnx(
        *fx::Tracer().trace(model), argv[1],
        {.inputs = {at::zeros({1, 1, 28, 28})}, .dynamic_axes = {{"image", {{0, "batch"}}}}});
  } catch (const std::exception& e) {
    std::cerr << "error: " << e.what() << "\n";
    return 1;
  }
}
