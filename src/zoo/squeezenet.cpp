#include "sparsebit/zoo/squeezenet.h"

#include "sparsebit/nn/containers.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"

namespace sparsebit::zoo {
namespace squeezenet_parts {

using nn::Args;
using nn::ModulePtr;
using nn::Value;

ModulePtr relu() { return nn::ReLU({{"inplace", true}}); }

class Fire : public nn::Cloneable<Fire> {
 public:
  Fire(int64_t in, int64_t squeezed, int64_t expanded) : Cloneable("Fire", "x") {
    add_module("squeeze", nn::Conv2d(in, squeezed, 1));
    add_module("squeeze_activation", relu());
    add_module("expand1x1", nn::Conv2d(squeezed, expanded, 1));
    add_module("expand1x1_activation", relu());
    add_module("expand3x3", nn::Conv2d(squeezed, expanded, 3, {{"padding", 1}}));
    add_module("expand3x3_activation", relu());
  }

  Value forward(const Args& in) override {
    const Value x = call("squeeze_activation", call("squeeze", in["x"]));
    const Value points = call("expand1x1_activation", call("expand1x1", x));
    const Value windows = call("expand3x3_activation", call("expand3x3", x));
    return nn::call_function("torch.cat", {nn::List{points, windows}, 1});
  }
};

class SqueezeNet : public nn::Cloneable<SqueezeNet> {
 public:
  explicit SqueezeNet(const SqueezeNetOptions& options) : Cloneable("SqueezeNet", "x") {
    const auto pool = [] { return nn::MaxPool2d(3, {{"stride", 2}, {"ceil_mode", true}}); };
    const auto fire = [](int64_t in, int64_t squeezed, int64_t expanded) {
      return std::make_shared<Fire>(in, squeezed, expanded);
    };
    add_module("features", std::make_shared<nn::Sequential>(std::vector<ModulePtr>{
                               nn::Conv2d(3, 64, 3, {{"stride", 2}}), relu(), pool(),
                               fire(64, 16, 64), fire(128, 16, 64), pool(), fire(128, 32, 128),
                               fire(256, 32, 128), pool(), fire(256, 48, 192), fire(384, 48, 192),
                               fire(384, 64, 256), fire(512, 64, 256)}));
    add_module("classifier", std::make_shared<nn::Sequential>(std::vector<ModulePtr>{
                                 nn::Dropout(0.5), nn::Conv2d(512, options.num_classes, 1), relu(),
                                 nn::AdaptiveAvgPool2d(nn::Tuple{1, 1})}));
  }

  Value forward(const Args& in) override {
    return nn::call_function("torch.flatten", {call("classifier", call("features", in["x"])), 1});
  }
};

}  // namespace squeezenet_parts

nn::ModulePtr squeezenet(const SqueezeNetOptions& options) {
  return std::make_shared<squeezenet_parts::SqueezeNet>(options);
}

}  // namespace sparsebit::zoo
