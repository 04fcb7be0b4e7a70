#include "sparsebit/fx/dead_code.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/lint.h"
#include "sparsebit/fx/parser.h"
#include "sparsebit/fx/printer.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::fx::dead_code_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::ThrowsMessage;

TEST(DeadCode, RemovesWhatTheOutputDoesNotNeed) {
  GraphModule module(parse_graph(R"(
      %x = input()
      %unused = input()
      %a = torch.neg(%x)
      %dead = torch.abs(%a)
      %deader = torch.abs(%dead)
      return %a)"),
                     "Model");
  const DeadCode dead = eliminate_dead_code(module);
  EXPECT_THAT(dead.nodes, ElementsAre("dead", "deader"));
  EXPECT_THAT(dead.placeholders, IsEmpty());
  EXPECT_EQ(to_text(module.graph()), R"(graph:
    %x : [#users=1] = placeholder[target=x]
    %unused : [#users=0] = placeholder[target=unused]
    %a : [#users=1] = call_function[target=torch.neg](args=(%x,), kwargs={})
    return a
)");
  EXPECT_TRUE(eliminate_dead_code(module).empty());
}

TEST(DeadCode, DroppingInputsShrinksTheSignature) {
  GraphModule module(parse_graph("%x = input()\n%meta = input()\n%y = torch.neg(%x)\nreturn %y"),
                     "Model");
  EXPECT_EQ(module.forward_schema().size(), 2u);
  const DeadCode dead = eliminate_dead_code(module, UnusedInputs::Drop);
  EXPECT_THAT(dead.placeholders, ElementsAre("meta"));
  EXPECT_EQ(module.forward_schema().to_string(), "x");
  EXPECT_TRUE(at::equal(module(at::ones({2})).tensor(), -at::ones({2})));
}

TEST(DeadCode, InPlaceWritesToNeededValuesStay) {
  GraphModule module(parse_graph(R"(
      %x = input()
      %y = torch.abs(%x)
      %v = %y.view(-1)
      %write = %v.add_(1)
      %other = torch.neg(%x)
      %lost = %other.add_(1)
      return %y)"),
                     "Model");
  EXPECT_THAT(eliminate_dead_code(module).nodes, ElementsAre("other", "lost"));
  EXPECT_TRUE(at::equal(module(at::ones({2})).tensor(), at::full({2}, 2.0)));
}

TEST(DeadCode, DeadBranchesWithInPlaceModulesGo) {
  GraphModule module(parse_graph(R"(
      %x = input()
      %aux = self.fc(%x)
      %act = self.relu(%aux)
      return %x)"),
                     "Model");
  module.add_module("fc", nn::Linear(2, 2));
  module.add_module("relu", nn::ReLU({{"inplace", true}}));
  EXPECT_THAT(eliminate_dead_code(module).nodes, ElementsAre("aux", "act"));
}

TEST(DeadCode, InPlaceModulesOnNeededValuesStay) {
  GraphModule module(parse_graph(R"(
      %x = input()
      %y = self.fc(%x)
      %act = self.relu(%y)
      return %y)"),
                     "Model");
  module.add_module("fc", nn::Linear(2, 2));
  module.add_module("relu", nn::ReLU({{"inplace", true}}));
  EXPECT_TRUE(eliminate_dead_code(module).empty());
}

TEST(DeadCode, WritesThroughListsAndToStateStay) {
  GraphModule module(parse_graph(R"(
      %x = input()
      %a = torch.neg(%x)
      %b = torch.abs(%x)
      %pair = tuple([%a, %b])
      %second = operator.getitem(%pair, 1)
      %write = %second.add_(1)
      %counter = self.counter
      %count = %counter.add_(1)
      %checked = torch._assert(True, 'fine')
      return %b)"),
                     "Model");
  module.add_buffer("counter", at::zeros({1}));
  EXPECT_TRUE(eliminate_dead_code(module).empty());
  EXPECT_EQ(module(at::ones({1})).tensor().item<float>(), 2.f);
  EXPECT_EQ(module.find_tensor("counter")->item<float>(), 1.f);
}

TEST(DeadCode, LongDeadChainsOfWritesAreFast) {
  std::string text = "%x = input()\n%n0 = torch.neg(%x)\n";
  for (int i = 1; i <= 20000; ++i) text += c10::str("%n", i, " = %n", i - 1, ".add_(1)\n");
  GraphModule module(parse_graph(text + "return %x"), "Model");
  EXPECT_EQ(eliminate_dead_code(module).nodes.size(), 20001u);
}

TEST(DeadCode, AGraphWithoutOutputIsAnError) {
  GraphModule module(parse_graph("%x = input()"), "Model");
  EXPECT_THAT([&] { eliminate_dead_code(module); },
              ThrowsMessage<Error>("the graph has no output node, so everything in it is dead"));
}

/// A module with C++ code, which may read any of its submodules.
class Opaque : public Module {
 public:
  Opaque() : Module("Opaque", "input") {}
  Value forward(const Args& in) override { return call("lin", in["input"]); }
};

// `head` is a layer inside of a called module, and the graph reads one of its tensors.
TEST(UnusedState, PartsOfCalledModulesStayWhole) {
  const std::vector<Value> sizes = {2, 2};
  const ModulePtr linear = make_module("torch.nn.Linear", sizes);
  GraphModule module(parse_graph("%x = input()\n%w = self.head.weight\n%a = self.block(%x)\n"
                                 "%b = torch.matmul(%a, %w)\nreturn %b"),
                     "Model");
  module.set_module("block", std::make_shared<Opaque>());
  module.set_module("block.lin", linear);
  module.set_module("head", linear);
  drop_unused_state(module);
  EXPECT_TRUE(linear->find_tensor("bias"));
}

TEST(UnusedState, OnlyWhatTheGraphRefersToStays) {
  GraphModule module(parse_graph("%x = input()\n%w = self.block.scale\n%a = self.block.fc(%x)\n"
                                 "%b = torch.mul(%a, %w)\nreturn %b"),
                     "Model");
  module.set_module("block.fc", nn::Linear(2, 2));
  module.set_module("block.old", nn::Linear(2, 2));
  module.set_module("gone.fc", nn::Linear(2, 2));
  module.find("block")->add_buffer("scale", at::ones({1}));
  module.find("block")->add_parameter("unused", at::ones({1}));
  drop_unused_state(module);
  std::vector<std::string> names;
  for (const auto& item : module.state_dict()) names.push_back(item.key());
  EXPECT_THAT(names,
              testing::UnorderedElementsAre("block.fc.weight", "block.fc.bias", "block.scale"));
  EXPECT_FALSE(module.find_module("gone"));
  EXPECT_FALSE(module.find_module("block.old"));
}

}  // namespace
}  // namespace sparsebit::fx::dead_code_test
