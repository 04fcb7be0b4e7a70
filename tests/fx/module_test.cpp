#include "sparsebit/fx/module.h"

#include "sparsebit/core/error.h"
#include "sparsebit/nn/containers.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::fx::module_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class Tied : public nn::Cloneable<Tied> {
 public:
  Tied() : Cloneable("Tied", "x") {
    const ModulePtr shared = nn::Linear(3, 3);
    add_module("a", shared);
    add_module("b", shared);
    add_module("c", nn::Linear(3, 3, {{"bias", false}}));
    child("c").add_parameter("weight", *shared->find_tensor("weight"));
    add_buffer("count", at::zeros({}, at::kLong));
    set_attribute("level", 3);
  }
  Value forward(const Args& in) override { return call("c", call("b", call("a", in["x"]))); }
};

class NotCloneable : public nn::Module {
 public:
  NotCloneable() : Module("NotCloneable", "x") {}
  Value forward(const Args& in) override { return in["x"]; }
};

std::vector<std::string> paths(Module& module, Duplicates duplicates) {
  std::vector<std::string> result;
  for (const auto& [path, part] : module.named_modules(duplicates)) result.push_back(path);
  return result;
}

TEST(Module, NamedModulesWithAndWithoutDuplicates) {
  Tied model;
  EXPECT_THAT(paths(model, Duplicates::Skip), ElementsAre("", "a", "c"));
  EXPECT_THAT(paths(model, Duplicates::Keep), ElementsAre("", "a", "b", "c"));
}

TEST(Module, NamedTensorsWithAndWithoutDuplicates) {
  const Tied model;
  EXPECT_THAT(model.named_parameters().keys(), ElementsAre("a.weight", "a.bias"));
  EXPECT_THAT(model.named_parameters(Duplicates::Keep).keys(),
              ElementsAre("a.weight", "a.bias", "b.weight", "b.bias", "c.weight"));
  EXPECT_THAT(model.named_buffers().keys(), ElementsAre("count"));
  EXPECT_THAT(model.state_dict().keys(),
              ElementsAre("a.weight", "a.bias", "b.weight", "b.bias", "c.weight", "count"));
}

TEST(Module, AbsentParametersKeepTheirPlace) {
  const ModulePtr fc = nn::Linear(2, 2, {{"bias", false}});
  EXPECT_THAT(fc->own_parameters().keys(), ElementsAre("weight", "bias"));
  EXPECT_FALSE(fc->own_parameters()["bias"].defined());
  EXPECT_EQ(fc->describe(), "torch.nn.Linear(in_features=2, out_features=2, bias=None)");
}

TEST(Module, CloneKeepsSharingAndOwnsItsTensors) {
  Tied model;
  model.find("a")->train(false);
  const ModulePtr copy = model.clone();
  EXPECT_THAT(paths(*copy, Duplicates::Skip), ElementsAre("", "a", "c"));
  EXPECT_TRUE(copy->find_tensor("a.weight")->is_same(*copy->find_tensor("c.weight")));
  EXPECT_FALSE(copy->find_tensor("a.weight")->is_same(*model.find_tensor("a.weight")));
  EXPECT_TRUE(copy->find_tensor("a.weight")->requires_grad());
  EXPECT_EQ(copy->attribute("level"), Value(3));
  EXPECT_FALSE(copy->find("a")->is_training());
  const at::Tensor x = at::ones({1, 3});
  EXPECT_TRUE(at::equal((*copy)(x).tensor(), model(x).tensor()));
}

TEST(Module, CloneOfAnUncopyableClassIsAClearError) {
  Module root("Root", Schema());
  root.add_module("m", std::make_shared<NotCloneable>());
  EXPECT_THAT(
      [&] { root.clone(); },
      ThrowsMessage<Error>("a module of class NotCloneable cannot be copied: derive it from "
                           "nn::Cloneable"));
}

TEST(Module, ToKeepsSharingAndSkipsIntegers) {
  Tied model;
  model.to(at::kDouble);
  EXPECT_EQ(model.find_tensor("a.weight")->scalar_type(), at::kDouble);
  EXPECT_EQ(model.find_tensor("count")->scalar_type(), at::kLong);
  EXPECT_TRUE(model.find_tensor("a.weight")->is_same(*model.find_tensor("c.weight")));
  EXPECT_TRUE(model.find_tensor("a.weight")->requires_grad());
  model.to(at::Device("cpu"));
  EXPECT_EQ(model(at::ones({1, 3}, at::kDouble)).tensor().scalar_type(), at::kDouble);
  EXPECT_THAT([&] { model.to(at::kInt); },
              ThrowsMessage<Error>("a model can be converted to floating types only, got int32"));
}

TEST(Module, ToKeepsTheTensorObjectsAndTheirGradients) {
  Tied model;
  const at::Tensor weight = *model.find_tensor("a.weight");
  model(at::ones({1, 3})).tensor().sum().backward();
  model.to(at::kFloat);
  EXPECT_TRUE(weight.grad().defined());
  model.to(at::kDouble);
  EXPECT_TRUE(model.find_tensor("a.weight")->is_same(weight));
  EXPECT_EQ(weight.grad().scalar_type(), at::kDouble);
}

TEST(Module, ANameMeansOneThing) {
  Tied model;
  EXPECT_THAT([&] { model.add_parameter("a", at::ones({1})); },
              ThrowsMessage<Error>("Tied: the name 'a' is taken by its module"));
  EXPECT_THAT([&] { model.add_buffer("level", at::ones({1})); },
              ThrowsMessage<Error>("Tied: the name 'level' is taken by its attribute"));
}

TEST(Module, TrainReachesEveryChild) {
  Tied model;
  EXPECT_TRUE(model.find("c")->is_training());
  model.eval();
  EXPECT_FALSE(model.is_training());
  EXPECT_FALSE(model.find("c")->is_training());
}

TEST(Module, StateDictRoundTrip) {
  Tied source, target;
  target.load_state_dict(source.state_dict());
  const at::Tensor x = at::ones({1, 3});
  EXPECT_TRUE(at::equal(source(x).tensor(), target(x).tensor()));
  EXPECT_FALSE(source.find_tensor("a.weight")->is_same(*target.find_tensor("a.weight")));
}

TEST(Module, StateDictThatDoesNotFitChangesNothing) {
  Tied model;
  const at::Tensor before = model.find_tensor("a.weight")->clone();
  NamedTensors state;
  state.insert("a.weight", at::zeros({3, 3}));
  state.insert("b.weight", at::zeros({3, 3}));
  state.insert("a.bias", at::zeros({4}));
  state.insert("b.bias", at::zeros({3}));
  state.insert("count", at::zeros({}, at::kLong));
  state.insert("extra", at::zeros({1}));
  EXPECT_THAT([&] { model.load_state_dict(state); },
              ThrowsMessage<Error>(
                  "the state dict does not fit Tied; missing 1: c.weight; unexpected 1: extra; "
                  "wrong shape 1: a.bias (model has Tensor[3] float32, state has "
                  "Tensor[4] float32)"));
  EXPECT_TRUE(at::equal(*model.find_tensor("a.weight"), before));
}

TEST(Module, SetTensorReplacesEverySharedUse) {
  Tied model;
  model.set_tensor("c.weight", at::eye(3));
  EXPECT_TRUE(at::equal(*model.find_tensor("a.weight"), at::eye(3)));
  EXPECT_THAT([&] { model.set_tensor("c.wait", at::eye(3)); },
              ThrowsMessage<Error>("Tied has no parameter or buffer 'c.wait'"));
}

TEST(Module, NamesAreCheckedAndSuggested) {
  Tied model;
  EXPECT_THAT([&] { model.add_module("a.b", nn::ReLU()); },
              ThrowsMessage<Error>(
                  "Tied: a name inside a module cannot be empty or contain '.', got 'a.b'"));
  EXPECT_THAT([&] { model.child("aa"); },
              ThrowsMessage<Error>(HasSubstr("Tied has no module 'aa'; did you mean 'a'")));
  EXPECT_THAT([&] { model.attribute("levels"); },
              ThrowsMessage<Error>("Tied has no attribute 'levels'; did you mean 'level'?"));
  EXPECT_THAT([&] { model.buffer("cout"); },
              ThrowsMessage<Error>("Tied has no buffer 'cout'; did you mean 'count'?"));
}

TEST(Module, ReplacedChildrenAreReallyReplaced) {
  Tied model;
  model.set_module("c", nn::Identity());
  model.set_module("a", nn::Identity());
  model.set_module("b", nn::Identity());
  const at::Tensor x = at::ones({1, 3});
  EXPECT_TRUE(at::equal(model(x).tensor(), x));
  model.remove_module("c");
  EXPECT_EQ(model.find_module("c"), nullptr);
  EXPECT_THAT([&] { model.remove_module("c"); },
              ThrowsMessage<Error>(HasSubstr("Tied has no module 'c'")));
}

TEST(Module, CallsAreBoundByName) {
  Tied model;
  const at::Tensor x = at::ones({1, 3});
  EXPECT_TRUE(at::equal(model.invoke({}, {{"x", x}}).tensor(), model(x).tensor()));
  EXPECT_THAT(
      [&] { model(x, x); },
      ThrowsMessage<Error>("takes at most 1 positional arguments, got 2; the signature is (x)\n"
                           "  in a call of Tied"));
}

TEST(Module, ConstructionErrorsShowTheSignature) {
  EXPECT_THAT(
      [] {
        nn::Linear(2, 2, {{"bais", false}});
      },
      ThrowsMessage<Error>("unknown argument 'bais'; did you mean 'bias'?; the signature is "
                           "(in_features, out_features, bias=True)\n"
                           "  in the construction of torch.nn.Linear"));
  EXPECT_THAT(
      [] {
        nn::layer("torch.nn.Conv4d", {1, 1, 1});
      },
      ThrowsMessage<Error>(HasSubstr("unknown operator 'torch.nn.Conv4d'; did you mean")));
}

TEST(Module, UnknownTypesAreCarriedButNotRun) {
  Module custom("com.acme.Layer", "x");
  custom.set_attribute("gain", 2.0);
  EXPECT_THAT([&] { custom(1); },
              ThrowsMessage<Error>("unknown module type 'com.acme.Layer': it cannot be executed"));
}

TEST(Module, ZeroGradClearsGradients) {
  Tied model;
  model(at::ones({1, 3})).tensor().sum().backward();
  EXPECT_TRUE(model.find_tensor("a.weight")->grad().defined());
  model.zero_grad();
  EXPECT_FALSE(model.find_tensor("a.weight")->grad().defined());
}

}  // namespace
}  // namespace sparsebit::fx::module_test
