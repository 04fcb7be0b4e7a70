#include "sparsebit/zoo/mobilenet.h"

#include "sparsebit/nn/containers.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"

namespace sparsebit::zoo {
namespace mobilenet_parts {

using nn::Args;
using nn::ModulePtr;
using nn::Value;

/// Channel counts stay multiples of 8 and lose at most 10 % by rounding down.
int64_t round_channels(double channels) {
  const int64_t rounded = std::max<int64_t>(8, static_cast<int64_t>(channels + 4) / 8 * 8);
  return static_cast<double>(rounded) < 0.9 * channels ? rounded + 8 : rounded;
}

ModulePtr conv_bn_relu6(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t groups) {
  return std::make_shared<nn::Sequential>(std::vector<ModulePtr>{
      nn::Conv2d(
          in, out, kernel,
          {{"stride", stride}, {"padding", kernel / 2}, {"groups", groups}, {"bias", false}}),
      nn::BatchNorm2d(out), nn::ReLU6({{"inplace", true}})});
}

class InvertedResidual : public nn::Cloneable<InvertedResidual> {
 public:
  InvertedResidual(int64_t in, int64_t out, int64_t stride, int64_t expansion)
      : Cloneable("InvertedResidual", "x"), has_shortcut_(stride == 1 && in == out) {
    const int64_t hidden = in * expansion;
    auto conv = std::make_shared<nn::Sequential>();
    if (expansion != 1) conv->append(conv_bn_relu6(in, hidden, 1, 1, 1));
    conv->append(conv_bn_relu6(hidden, hidden, 3, stride, hidden));
    conv->append(nn::Conv2d(hidden, out, 1, {{"bias", false}}));
    conv->append(nn::BatchNorm2d(out));
    add_module("conv", conv);
  }

  Value forward(const Args& in) override {
    const Value x = in["x"];
    return has_shortcut_ ? x + call("conv", x) : call("conv", x);
  }

 private:
  bool has_shortcut_;
};

struct Stage {
  int64_t expansion, channels, depth, stride;
};
constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                             {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

class MobileNetV2 : public nn::Cloneable<MobileNetV2> {
 public:
  explicit MobileNetV2(const MobileNetV2Options& options) : Cloneable("MobileNetV2", "x") {
    int64_t channels = round_channels(32 * options.width);
    const int64_t last = round_channels(1280 * std::max(1.0, options.width));
    auto features = std::make_shared<nn::Sequential>();
    features->append(conv_bn_relu6(3, channels, 3, 2, 1));
    for (const Stage& stage : kStages) {
      const int64_t out = round_channels(static_cast<double>(stage.channels) * options.width);
      for (int64_t i = 0; i < stage.depth; ++i) {
        features->append(std::make_shared<InvertedResidual>(
            channels, out, i == 0 ? stage.stride : 1, stage.expansion));
        channels = out;
      }
    }
    features->append(conv_bn_relu6(channels, last, 1, 1, 1));
    add_module("features", features);
    add_module("classifier", std::make_shared<nn::Sequential>(std::vector<ModulePtr>{
                                 nn::Dropout(0.2), nn::Linear(last, options.num_classes)}));
  }

  Value forward(const Args& in) override {
    Value x = call("features", in["x"]);
    x = nn::adaptive_avg_pool2d(x, nn::Tuple{1, 1});
    x = nn::call_function("torch.flatten", {x, 1});
    return call("classifier", x);
  }
};

}  // namespace mobilenet_parts

nn::ModulePtr mobilenet_v2(const MobileNetV2Options& options) {
  return std::make_shared<mobilenet_parts::MobileNetV2>(options);
}

}  // namespace sparsebit::zoo
