#include "sparsebit/zoo/zoo.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/fx/lint.h"
#include "sparsebit/fx/printer.h"
#include "sparsebit/fx/resolve.h"
#include "sparsebit/fx/tracer.h"
#include "sparsebit/nn/layers.h"
#include "sparsebit/zoo/bert.h"
#include "sparsebit/zoo/deit.h"
#include "sparsebit/zoo/gpt2.h"
#include "sparsebit/zoo/mobilenet.h"
#include "sparsebit/zoo/resnet.h"
#include "sparsebit/zoo/squeezenet.h"
#include "sparsebit/zoo/yolo.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::zoo::zoo_test {
namespace {

using nn::ModulePtr;
using nn::Value;
using testing::ElementsAre;
using testing::ThrowsMessage;

std::vector<at::Tensor> tensors_of(const Value& value) {
  if (value.is_tensor()) return {value.tensor()};
  return value.tensors();
}

void expect_same(const Value& ours, const Value& theirs) {
  const auto a = tensors_of(ours), b = tensors_of(theirs);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::equal(a[i], b[i]));
}

class Zoo : public testing::TestWithParam<const char*> {};

TEST_P(Zoo, TracedGraphEqualsEagerExactly) {
  const Example example = make(GetParam(), 1);
  const auto traced = fx::QTracer({}).trace(*example.model);
  fx::lint(traced->graph(), *traced);
  const at::NoGradGuard no_grad;
  expect_same(traced->invoke(example.inputs), example.model->invoke(example.inputs));
  // Every call is in the operator table.
  for (const fx::Node& node : traced->graph().nodes()) {
    const bool is_call = node.op() == fx::Opcode::CallFunction ||
                         node.op() == fx::Opcode::CallMethod || node.op() == fx::Opcode::CallModule;
    EXPECT_TRUE(!is_call || fx::resolve(node, *traced)) << to_string(node);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Zoo,
                         testing::Values("bert", "deit_tiny", "gpt2", "mobilenet_v2", "resnet18",
                                         "resnet20", "resnet50", "squeezenet1_1", "yolo"),
                         [](const auto& info) { return std::string(info.param); });

// golden/*.txt were traced with torch.fx from torchvision's models
// (scripts/make_fx_golden.py).
TEST(Zoo, GraphsEqualThoseOfTorchFx) {
  for (const char* name : {"resnet18", "resnet50", "mobilenet_v2", "squeezenet1_1"}) {
    const Example example = make(name);
    const auto traced = fx::Tracer().trace(*example.model);
    EXPECT_EQ(fx::to_text(traced->graph()),
              read_file(std::string(SPARSEBIT_GOLDEN_DIR "/") + name + ".txt"));
  }
}

TEST(Zoo, EveryArchitectureIsTested) {
  EXPECT_THAT(architectures().names(),
              ElementsAre("bert", "deit_tiny", "gpt2", "mobilenet_v2", "resnet18", "resnet20",
                          "resnet50", "squeezenet1_1", "yolo"));
}

// Small variants of every architecture: a training step of model and graph must agree.
struct Small {
  const char* name;
  ModulePtr (*make)();
  std::vector<Value> (*inputs)();
};

at::Tensor image(int64_t size) {
  return at::randn({2, 3, size, size}, at::detail::createCPUGenerator(1));
}
at::Tensor tokens() {
  return at::randint(0, 50, {2, 7}, at::detail::createCPUGenerator(1), at::kLong);
}

const Small kSmall[] = {
    {"resnet_basic",
     [] {
       return resnet({.depths = {1, 1}, .width = 8, .num_classes = 5});
     },
     [] { return std::vector<Value>{image(32)}; }},
    {"resnet_bottleneck",
     [] {
       return resnet(
           {.block = ResNetBlock::Bottleneck, .depths = {1, 2}, .width = 8, .num_classes = 5});
     },
     [] { return std::vector<Value>{image(32)}; }},
    {"resnet20", [] { return resnet20(); }, [] { return std::vector<Value>{image(32)}; }},
    {"mobilenet_v2", [] { return mobilenet_v2({.width = 0.25, .num_classes = 5}); },
     [] { return std::vector<Value>{image(64)}; }},
    {"squeezenet", [] { return squeezenet({.num_classes = 5}); },
     [] { return std::vector<Value>{image(64)}; }},
    {"yolo", [] { return yolo({.width = 4, .num_classes = 3}); },
     [] { return std::vector<Value>{image(64)}; }},
    {"deit",
     [] {
       return deit(
           {.image_size = 32, .patch_size = 8, .embed_dim = 24, .depth = 2, .num_classes = 5});
     },
     [] { return std::vector<Value>{image(32)}; }},
    {"bert",
     [] {
       return bert({.vocab_size = 50,
                    .hidden_size = 24,
                    .num_layers = 2,
                    .num_heads = 3,
                    .intermediate_size = 48,
                    .max_positions = 16});
     },
     [] {
       return std::vector<Value>{tokens(), at::zeros({2, 7}, at::kLong),
                                 at::ones({2, 7}, at::kLong)};
     }},
    {"gpt2",
     [] {
       return gpt2(
           {.vocab_size = 50, .context = 16, .embed_dim = 24, .num_layers = 2, .num_heads = 3});
     },
     [] { return std::vector<Value>{tokens()}; }},
};

fx::NamedTensors gradients_of_step(nn::Module& model, const std::vector<Value>& inputs) {
  model.zero_grad();
  at::manual_seed(9);  // dropout
  at::Tensor loss = at::zeros({});
  for (const at::Tensor& out : tensors_of(model.invoke(inputs))) loss = loss + out.square().mean();
  loss.backward();
  fx::NamedTensors gradients;
  for (const auto& item : model.named_parameters())
    gradients.insert(item.key(), item.value().grad().clone());
  return gradients;
}

TEST(Zoo, GradientsOfModelAndGraphAgreeInTrainMode) {
  for (const Small& small : kSmall) {
    SCOPED_TRACE(small.name);
    const ModulePtr model = small.make();
    nn::reset_parameters(*model, 3);
    model->train();
    const ModulePtr twin = model->clone();
    const auto traced = fx::QTracer({}).trace(*twin);
    const std::vector<Value> inputs = small.inputs();
    const fx::NamedTensors expected = gradients_of_step(*model, inputs);
    const fx::NamedTensors actual = gradients_of_step(*traced, inputs);
    ASSERT_EQ(actual.size(), expected.size());
    for (const auto& item : expected)
      EXPECT_TRUE(at::equal(*actual.find(item.key()), item.value())) << item.key();
    for (const auto& item : model->named_buffers()) {
      EXPECT_TRUE(at::equal(*twin->find_tensor(item.key()), item.value())) << item.key();
    }
  }
}

TEST(Zoo, GraphsFollowBatchAndLength) {
  const ModulePtr model = kSmall[7].make();  // bert
  model->eval();
  const auto traced = fx::QTracer({}).trace(*model);
  const at::NoGradGuard no_grad;
  const std::vector<Value> other = {at::ones({3, 5}, at::kLong), at::zeros({3, 5}, at::kLong),
                                    at::ones({3, 5}, at::kLong)};
  expect_same(traced->invoke(other), model->invoke(other));
}

TEST(Zoo, SeedsDecideEverything) {
  const Example a = make("resnet20", 5), b = make("resnet20", 5), c = make("resnet20", 6);
  EXPECT_TRUE(at::equal(a.inputs[0].tensor(), b.inputs[0].tensor()));
  for (const auto& item : a.model->state_dict()) {
    EXPECT_TRUE(at::equal(item.value(), *b.model->find_tensor(item.key())));
  }
  EXPECT_FALSE(
      at::equal(*a.model->find_tensor("conv1.weight"), *c.model->find_tensor("conv1.weight")));
}

TEST(Zoo, ParameterCountsAreTheKnownOnes) {
  const auto count = [](const ModulePtr& model) {
    int64_t total = 0;
    for (const auto& item : model->named_parameters()) total += item.value().numel();
    return total;
  };
  // torchvision, akamaster/pytorch_resnet_cifar10, timm, Hugging Face
  EXPECT_EQ(count(resnet()), 11689512);
  EXPECT_EQ(count(resnet({.block = ResNetBlock::Bottleneck, .depths = {3, 4, 6, 3}})), 25557032);
  EXPECT_EQ(count(resnet20()), 269722);
  EXPECT_EQ(count(mobilenet_v2()), 3504872);
  EXPECT_EQ(count(squeezenet()), 1235496);
  EXPECT_EQ(count(deit()), 5717416);
  EXPECT_EQ(count(bert()), 109482240);
  EXPECT_EQ(count(gpt2()), 124439808);
}

TEST(Zoo, TiedWeightsStayTied) {
  const ModulePtr model = kSmall[8].make();  // gpt2
  EXPECT_TRUE(
      model->find_tensor("lm_head.weight")->is_same(*model->find_tensor("transformer.wte.weight")));
  const ModulePtr copy = model->clone();
  EXPECT_TRUE(
      copy->find_tensor("lm_head.weight")->is_same(*copy->find_tensor("transformer.wte.weight")));
}

TEST(Zoo, UnknownNamesAreSuggested) {
  EXPECT_THAT([] { make("resnet19"); },
              ThrowsMessage<Error>(
                  testing::StartsWith("unknown zoo model 'resnet19'; did you mean 'resnet18'")));
}

}  // namespace
}  // namespace sparsebit::zoo::zoo_test
