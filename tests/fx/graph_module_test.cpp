#include "sparsebit/fx/graph_module.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/parser.h"
#include "sparsebit/fx/printer.h"
#include "sparsebit/nn/containers.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::fx::graph_module_test {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

std::unique_ptr<Graph> example_graph() {
  return parse_graph(R"(
      %x = input()
      %bias = self.head.bias
      %fc = self.head.fc(%x)
      %total = torch.add(%fc, %bias)
      return %total)");
}

struct Example {
  Module root = {"Root", Schema()};
  Example() {
    root.set_module("head.fc", nn::Linear(2, 3));
    root.set_module("head.unused", nn::Linear(2, 3));
    root.set_module("other", nn::ReLU());
    root.find("head")->add_parameter("bias", at::ones({3}));
  }
};

TEST(GraphModule, TakesWhatTheGraphRefersTo) {
  Example example;
  GraphModule module(example.root, example_graph(), "Model");
  EXPECT_THAT(module.state_dict().keys(),
              ElementsAre("head.bias", "head.fc.weight", "head.fc.bias"));
  EXPECT_EQ(module.find_module("head.fc"), example.root.find_module("head.fc"));
  EXPECT_TRUE(module.find_tensor("head.bias")->is_same(*example.root.find_tensor("head.bias")));
  EXPECT_EQ(module.type(), "Model");
}

TEST(GraphModule, FrozenParametersStayFrozen) {
  Example example;
  at::Tensor(*example.root.find_tensor("head.bias")).requires_grad_(false);
  const GraphModule module(example.root, example_graph(), "Model");
  EXPECT_FALSE(module.find_tensor("head.bias")->requires_grad());
}

TEST(GraphModule, OwnersAreTakenWhatIsUsedFirst) {
  Example example;
  example.root.set_module("pair",
                          std::make_shared<nn::Sequential>(std::vector<ModulePtr>{nn::ReLU()}));
  GraphModule module(
      example.root,
      parse_graph("%x = input()\n%a = self.pair.0(%x)\n%b = self.pair(%a)\nreturn %b"), "Model");
  EXPECT_EQ(module.find_module("pair"), example.root.find_module("pair"));
  EXPECT_EQ(module(at::ones({1})).tensor().item<float>(), 1.f);
}

TEST(GraphModule, MissingTargetsAreNamed) {
  Module empty("Root", Schema());
  EXPECT_THAT(
      [&] { GraphModule(empty, parse_graph("%x = input()\n%y = self.fc(%x)\nreturn %y"), "M"); },
      ThrowsMessage<Error>("node 'y' calls 'fc', but Root has no such module"));
  EXPECT_THAT([&] { GraphModule(empty, parse_graph("%w = self.w\nreturn %w"), "M"); },
              ThrowsMessage<Error>(
                  "the graph reads 'w', but Root has no such parameter, buffer or attribute"));
  EXPECT_THAT([&] { GraphModule(empty, parse_graph("%w = self.a.w\nreturn %w"), "M"); },
              ThrowsMessage<Error>("the graph reads 'a.w', but Root has no module 'a'"));
}

TEST(GraphModule, IsCalledLikeAnyModule) {
  Example example;
  GraphModule module(example.root, example_graph(), "Model");
  const at::Tensor x = at::ones({1, 2});
  const at::Tensor expected = (*example.root.find_module("head.fc"))(x).tensor() + 1;
  EXPECT_TRUE(at::equal(module(x).tensor(), expected));
  EXPECT_TRUE(at::equal(module.invoke({}, {{"x", x}}).tensor(), expected));
}

TEST(GraphModule, DefaultsOfPlaceholdersAreOptionalArguments) {
  GraphModule module(
      parse_graph("%x = input()\n%k = input(3)\n%y = operator.mul(%x, %k)\nreturn %y"), "M");
  EXPECT_EQ(module(2), Value(6));
  EXPECT_EQ(module(2, 5), Value(10));
}

TEST(GraphModule, CloneIsIndependent) {
  Example example;
  GraphModule module(example.root, example_graph(), "Model");
  module.eval();
  const std::shared_ptr<GraphModule> copy = module.clone_graph_module();
  EXPECT_EQ(to_text(copy->graph()), to_text(module.graph()));
  EXPECT_FALSE(copy->is_training());
  const at::Tensor x = at::ones({1, 2});
  const at::Tensor before = module(x).tensor().detach().clone();
  {
    const at::NoGradGuard no_grad;
    at::Tensor(*copy->find_tensor("head.fc.weight")).fill_(7);
  }
  copy->graph().find("total")->set_target("torch.sub");
  EXPECT_TRUE(at::equal(module(x).tensor(), before));
  EXPECT_FALSE(at::equal((*copy)(x).tensor(), before));
}

TEST(GraphModule, NestsAsAChild) {
  auto inner = std::make_shared<GraphModule>(
      parse_graph("%x = input()\n%y = torch.neg(%x)\nreturn %y"), "Inner");
  GraphModule outer(
      parse_graph("%x = input()\n%y = self.inner(%x)\n%z = self.inner(%y)\nreturn %z"), "Outer");
  outer.add_module("inner", inner);
  EXPECT_EQ(outer(at::tensor({2.f})).tensor().item<float>(), 2.f);
}

}  // namespace
}  // namespace sparsebit::fx::graph_module_test
