#include "sparsebit/fx/resolve.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/graph_module.h"
#include "sparsebit/fx/parser.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::fx::resolve_test {
namespace {

using testing::ThrowsMessage;

// Module, function and method forms of one operator read alike.
TEST(Resolve, AllFormsGiveOneOperatorWithNamedArguments) {
  GraphModule module(parse_graph(R"(
      %x = input()
      %w = self.w
      %a = self.conv(%x)
      %b = torch.nn.functional.conv2d(%x, %w, None, 2, padding=1)
      %c = torch.conv2d(%x, %w, stride=(2, 2))
      return (%a, %b, %c))"),
                     "Model");
  module.add_module("conv", nn::Conv2d(3, 4, 3, {{"stride", 2}, {"padding_mode", "reflect"}}));
  module.add_parameter("w", at::zeros({4, 3, 3, 3}));
  for (const char* name : {"a", "b", "c"}) {
    const auto call = resolve(*module.graph().find(name), module);
    ASSERT_TRUE(call);
    EXPECT_EQ(call->op->name, "conv2d");
    EXPECT_TRUE(call->args["input"].is_node());
    EXPECT_EQ(call->args.ints("stride", 2), (std::vector<int64_t>{2, 2}));
  }
  const auto module_call = resolve(*module.graph().find("a"), module);
  EXPECT_EQ(module_call->args["padding_mode"], Value("reflect"));
  EXPECT_TRUE(module_call->args.tensor("weight").is_same(*module.find_tensor("conv.weight")));
  EXPECT_EQ(resolve(*module.graph().find("b"), module)->args["padding"], Value(1));
}

TEST(Resolve, OtherNodesAreNotOperators) {
  GraphModule module(parse_graph("%x = input()\n%y = unknown.op(%x)\nreturn %y"), "Model");
  for (const Node& node : module.graph().nodes()) EXPECT_FALSE(resolve(node, module));
}

TEST(Resolve, ArgumentsThatDoNotFitNameTheNode) {
  GraphModule module(parse_graph("%x = input()\n%y = torch.relu(%x, 1, 2, 3)\nreturn %y"), "Model");
  EXPECT_THAT(
      [&] { resolve(*module.graph().find("y"), module); },
      ThrowsMessage<Error>("takes at most 2 positional arguments, got 4; the signature is "
                           "(input, inplace=False)\n  in a call of torch.relu\n  at node 'y'"));
}

TEST(Resolve, ModuleTypesAndMethodsAreNotFunctions) {
  GraphModule module(
      parse_graph("%x = input()\n%y = torch.nn.ReLU(%x)\n%z = Tensor.relu_(%x)\nreturn (%y, %z)"),
      "Model");
  for (const char* name : {"y", "z"}) {
    EXPECT_FALSE(resolve(*module.graph().find(name), module));
    EXPECT_FALSE(mutates_input(*module.graph().find(name), module));
  }
}

TEST(Resolve, MutationIsSeenInEveryForm) {
  GraphModule module(parse_graph(R"(
      %x = input()
      %no = torch.relu(%x)
      %method = %x.relu_()
      %keyword = torch.nn.functional.relu(%x, inplace=True)
      %item = operator.setitem(%x, 0, 1.0)
      %iadd = operator.iadd(%x, 1)
      %module = self.act(%x)
      return %x)"),
                     "Model");
  module.add_module("act", nn::ReLU({{"inplace", true}}));
  EXPECT_FALSE(mutates_input(*module.graph().find("no"), module));
  for (const char* name : {"method", "keyword", "item", "iadd", "module"}) {
    EXPECT_TRUE(mutates_input(*module.graph().find(name), module)) << name;
  }
}

}  // namespace
}  // namespace sparsebit::fx::resolve_test
