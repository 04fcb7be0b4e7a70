#include "sparsebit/zoo/resnet.h"

#include "sparsebit/nn/containers.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"

namespace sparsebit::zoo {
namespace resnet_parts {

using nn::Args;
using nn::ModulePtr;
using nn::Value;

ModulePtr conv(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  return nn::Conv2d(in, out, kernel,
                    {{"stride", stride}, {"padding", kernel / 2}, {"bias", false}});
}

class Bottleneck : public nn::Cloneable<Bottleneck> {
 public:
  static constexpr int64_t kExpansion = 4;

  Bottleneck(int64_t in, int64_t width, int64_t stride, ModulePtr downsample)
      : Cloneable("Bottleneck", "x") {
    add_module("conv1", conv(in, width, 1, 1));
    add_module("bn1", nn::BatchNorm2d(width));
    add_module("conv2", conv(width, width, 3, stride));
    add_module("bn2", nn::BatchNorm2d(width));
    add_module("conv3", conv(width, width * kExpansion, 1, 1));
    add_module("bn3", nn::BatchNorm2d(width * kExpansion));
    add_module("relu", nn::ReLU({{"inplace", true}}));
    if (downsample) add_module("downsample", std::move(downsample));
  }

  Value forward(const Args& in) override {
    const Value x = in["x"];
    Value out = call("relu", call("bn1", call("conv1", x)));
    out = call("relu", call("bn2", call("conv2", out)));
    out = call("bn3", call("conv3", out));
    const Value identity = children().contains("downsample") ? call("downsample", x) : x;
    return call("relu", out + identity);
  }
};

class BasicBlock : public nn::Cloneable<BasicBlock> {
 public:
  static constexpr int64_t kExpansion = 1;

  BasicBlock(int64_t in, int64_t width, int64_t stride, ModulePtr downsample)
      : Cloneable("BasicBlock", "x") {
    add_module("conv1", conv(in, width, 3, stride));
    add_module("bn1", nn::BatchNorm2d(width));
    add_module("relu", nn::ReLU({{"inplace", true}}));
    add_module("conv2", conv(width, width, 3, 1));
    add_module("bn2", nn::BatchNorm2d(width));
    if (downsample) add_module("downsample", std::move(downsample));
  }

  Value forward(const Args& in) override {
    const Value x = in["x"];
    Value out = call("relu", call("bn1", call("conv1", x)));
    out = call("bn2", call("conv2", out));
    const Value identity = children().contains("downsample") ? call("downsample", x) : x;
    return call("relu", out + identity);
  }
};

class ResNet : public nn::Cloneable<ResNet> {
 public:
  explicit ResNet(const ResNetOptions& options)
      : Cloneable("ResNet", "x"), channels_(options.width) {
    add_module("conv1",
               nn::Conv2d(3, options.width, 7, {{"stride", 2}, {"padding", 3}, {"bias", false}}));
    add_module("bn1", nn::BatchNorm2d(options.width));
    add_module("relu", nn::ReLU({{"inplace", true}}));
    add_module("maxpool", nn::MaxPool2d(3, {{"stride", 2}, {"padding", 1}}));
    for (size_t i = 0; i < options.depths.size(); ++i) {
      const int64_t width = options.width << i;
      const int64_t stride = i == 0 ? 1 : 2;
      add_module("layer" + std::to_string(i + 1),
                 options.block == ResNetBlock::Basic
                     ? make_stage<BasicBlock>(width, options.depths[i], stride)
                     : make_stage<Bottleneck>(width, options.depths[i], stride));
    }
    stages_ = options.depths.size();
    add_module("avgpool", nn::AdaptiveAvgPool2d(nn::Tuple{1, 1}));
    add_module("fc", nn::Linear(channels_, options.num_classes));
  }

  Value forward(const Args& in) override {
    Value x = call("relu", call("bn1", call("conv1", in["x"])));
    x = call("maxpool", x);
    for (size_t i = 1; i <= stages_; ++i) x = call("layer" + std::to_string(i), x);
    x = call("avgpool", x);
    x = nn::call_function("torch.flatten", {x, 1});
    return call("fc", x);
  }

 private:
  template <class Block>
  ModulePtr make_stage(int64_t width, int64_t depth, int64_t stride) {
    auto stage = std::make_shared<nn::Sequential>();
    const int64_t out = width * Block::kExpansion;
    for (int64_t i = 0; i < depth; ++i) {
      const int64_t block_stride = i == 0 ? stride : 1;
      ModulePtr downsample;
      if (block_stride != 1 || channels_ != out) {
        downsample = std::make_shared<nn::Sequential>(
            std::vector<ModulePtr>{conv(channels_, out, 1, block_stride), nn::BatchNorm2d(out)});
      }
      stage->append(std::make_shared<Block>(channels_, width, block_stride, downsample));
      channels_ = out;
    }
    return stage;
  }

  int64_t channels_;
  size_t stages_ = 0;
};

/// Shortcut without parameters: every second pixel, missing channels filled with zeros.
class CifarBlock : public nn::Cloneable<CifarBlock> {
 public:
  CifarBlock(int64_t in, int64_t out, int64_t stride)
      : Cloneable("BasicBlock", "x"), shrink_(stride != 1 || in != out), padding_((out - in) / 2) {
    add_module("conv1", conv(in, out, 3, stride));
    add_module("bn1", nn::BatchNorm2d(out));
    add_module("conv2", conv(out, out, 3, 1));
    add_module("bn2", nn::BatchNorm2d(out));
  }

  Value forward(const Args& in) override {
    const Value x = in["x"];
    Value out = nn::relu(call("bn1", call("conv1", x)));
    out = call("bn2", call("conv2", out));
    return nn::relu(out + (shrink_ ? shortcut(x) : x));
  }

 private:
  Value shortcut(const Value& x) const {
    const nn::Slice every_second(nn::None(), nn::None(), 2);
    const Value pixels =
        nn::getitem(x, nn::Tuple{nn::Slice(), nn::Slice(), every_second, every_second});
    return nn::pad(pixels, {0, 0, 0, 0, padding_, padding_});
  }

  bool shrink_;
  int64_t padding_;
};

class CifarResNet : public nn::Cloneable<CifarResNet> {
 public:
  explicit CifarResNet(int64_t blocks_per_stage) : Cloneable("ResNet", "x") {
    add_module("conv1", conv(3, 16, 3, 1));
    add_module("bn1", nn::BatchNorm2d(16));
    int64_t channels = 16;
    for (int64_t stage = 0; stage < 3; ++stage) {
      const int64_t out = int64_t{16} << stage;
      auto layer = std::make_shared<nn::Sequential>();
      for (int64_t i = 0; i < blocks_per_stage; ++i) {
        layer->append(std::make_shared<CifarBlock>(channels, out, i == 0 && stage > 0 ? 2 : 1));
        channels = out;
      }
      add_module("layer" + std::to_string(stage + 1), layer);
    }
    add_module("linear", nn::Linear(64, 10));
  }

  Value forward(const Args& in) override {
    Value x = nn::relu(call("bn1", call("conv1", in["x"])));
    for (const char* stage : {"layer1", "layer2", "layer3"}) x = call(stage, x);
    x = nn::call_function("torch.nn.functional.avg_pool2d", {x, nn::size(x, 3)});
    x = nn::view(x, {nn::size(x, 0), -1});
    return call("linear", x);
  }
};

}  // namespace resnet_parts

nn::ModulePtr resnet(const ResNetOptions& options) {
  return std::make_shared<resnet_parts::ResNet>(options);
}

nn::ModulePtr resnet20() { return std::make_shared<resnet_parts::CifarResNet>(3); }

}  // namespace sparsebit::zoo
