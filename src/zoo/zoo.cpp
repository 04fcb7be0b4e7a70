#include "sparsebit/zoo/zoo.h"

#include "sparsebit/core/random.h"
#include "sparsebit/nn/layers.h"
#include "sparsebit/zoo/bert.h"
#include "sparsebit/zoo/deit.h"
#include "sparsebit/zoo/gpt2.h"
#include "sparsebit/zoo/mobilenet.h"
#include "sparsebit/zoo/resnet.h"
#include "sparsebit/zoo/squeezenet.h"
#include "sparsebit/zoo/yolo.h"

#include <ATen/ATen.h>

namespace sparsebit::zoo {
namespace {

using nn::ModulePtr;
using nn::Value;

// Inputs of the right shape; make() fills them from the seed.
Value image(int64_t size) { return at::empty({1, 3, size, size}); }
Value tokens(int64_t length) { return at::empty({1, length}, at::kLong); }

Example image_model(ModulePtr model, int64_t size) { return {std::move(model), {image(size)}}; }

Example bert_example() {
  constexpr int64_t kLength = 32;
  return {bert(), {tokens(kLength), tokens(kLength), tokens(kLength)}};
}

/// Parameters that models own directly (class token, position embedding): N(0, 0.02).
void reset_own_parameters(nn::Module& model, const Random& random) {
  const at::NoGradGuard no_grad;
  for (const auto& [path, part] : model.named_modules()) {
    if (part->is_operator()) continue;
    for (const auto& item : part->own_parameters()) {
      at::Tensor(item.value()).normal_(0, 0.02, random.fork(path + "." + item.key()).generator());
    }
  }
}

/// Token inputs hold 0 and 1 only, which is valid for ids, types and masks alike.
void fill_inputs(std::vector<Value>& inputs, const Random& random) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const at::Generator generator = random.fork("input " + std::to_string(i)).generator();
    at::Tensor tensor = inputs[i].tensor();
    if (tensor.is_floating_point()) {
      tensor.normal_(0, 1, generator);
    } else {
      tensor.random_(0, 2, generator);
    }
  }
}

}  // namespace

Registry<Architecture>& architectures() {
  static auto registry = [] {
    Registry<Architecture> r("zoo model");
    r.add("bert", {"BERT-base encoder with embeddings and pooler, 32 tokens", bert_example});
    r.add("deit_tiny", {"DeiT-tiny, 224x224", [] { return image_model(deit(), 224); }});
    r.add("gpt2", {"GPT-2 small, 32 tokens", [] { return Example{gpt2(), {tokens(32)}}; }});
    r.add("mobilenet_v2",
          {"MobileNetV2, 224x224", [] { return image_model(mobilenet_v2(), 224); }});
    r.add("resnet18", {"ResNet-18, 224x224", [] { return image_model(resnet(), 224); }});
    r.add("resnet20",
          {"ResNet-20 for CIFAR-10, 32x32", [] { return image_model(resnet20(), 32); }});
    r.add("resnet50", {"ResNet-50, 224x224", [] {
                         return image_model(
                             resnet({.block = ResNetBlock::Bottleneck, .depths = {3, 4, 6, 3}}),
                             224);
                       }});
    r.add("squeezenet1_1",
          {"SqueezeNet 1.1, 224x224", [] { return image_model(squeezenet(), 224); }});
    r.add("yolo", {"YOLO-style detector with concat, upsampling and ConvTranspose2d, 160x160",
                   [] { return image_model(yolo(), 160); }});
    return r;
  }();
  return registry;
}

Example make(std::string_view name, uint64_t seed) {
  Example example = architectures().get(name).make();
  const Random random(seed);
  nn::reset_parameters(*example.model, seed);
  reset_own_parameters(*example.model, random.fork("own"));
  fill_inputs(example.inputs, random.fork("inputs"));
  example.model->eval();
  return example;
}

}  // namespace sparsebit::zoo
