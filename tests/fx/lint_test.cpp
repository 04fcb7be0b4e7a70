#include "sparsebit/fx/lint.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/parser.h"
#include "sparsebit/nn/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::fx::lint_test {
namespace {

using testing::ThrowsMessage;

TEST(Lint, AcceptsWellFormedGraphs) {
  const auto graph = parse_graph("%x = input()\n%y = torch.neg(%x)\nreturn %y");
  lint(*graph);
}

TEST(Lint, OrderIsChecked) {
  Graph graph;
  Node& x = graph.placeholder("x");
  Node& b = graph.call_function("b", {x});
  Node& c = graph.call_function("c", {x});
  b.set_args({c});
  EXPECT_THAT(
      [&] { lint(graph); },
      ThrowsMessage<Error>("node 'b': uses 'c', which comes later; call sort_topologically()"));
}

TEST(Lint, NodesOfOtherGraphsAreFound) {
  Graph one, two;
  Node& foreign = two.placeholder("z");
  Node& user = one.call_function("f", {foreign});
  EXPECT_THAT([&] { lint(one); },
              ThrowsMessage<Error>("node 'f': uses 'z', which belongs to another graph"));
  EXPECT_THAT(
      [&] { lint(two); },
      ThrowsMessage<Error>("inconsistent links (inputs: 0, users: 1): a node outside of the graph "
                           "uses one of its nodes"));
  one.erase(user);
  lint(two);
}

TEST(Lint, ShapesOfEachOpcodeAreChecked) {
  const auto message_of = [](auto build) -> std::string {
    Graph graph;
    build(graph);
    try {
      lint(graph);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message_of([](Graph& g) {
              g.create_node(Opcode::Placeholder, "x", {1, 2});
            }),
            "node 'x': a placeholder has at most one argument, its default");
  EXPECT_EQ(message_of([](Graph& g) { g.create_node(Opcode::GetAttr, "w", {1}); }),
            "node 'w': a get_attr node has no arguments");
  EXPECT_EQ(message_of([](Graph& g) { g.create_node(Opcode::Output, "output", {}); }),
            "node 'output': an output node has exactly one argument");
  EXPECT_EQ(message_of([](Graph& g) { g.call_method("view", {}); }),
            "node 'view': a call_method node needs the object as its first argument");
  EXPECT_EQ(message_of([](Graph& g) { g.create_node(Opcode::CallFunction, "", {}, {}, "f"); }),
            "node 'f': the target is empty");
  EXPECT_EQ(message_of([](Graph& g) {
              g.output(1);
              g.placeholder("late");
            }),
            "node 'late': comes after the output node 'output'");
}

TEST(Lint, TargetsMustExistInTheModuleTree) {
  Module root("Model", Schema());
  root.add_module("fc", nn::Linear(2, 2));
  const auto good =
      parse_graph("%x = input()\n%w = self.fc.weight\n%y = self.fc(%x)\nreturn (%w, %y)");
  lint(*good, root);
  const auto no_module = parse_graph("%x = input()\n%y = self.fd(%x)\nreturn %y");
  EXPECT_THAT([&] { lint(*no_module, root); },
              ThrowsMessage<Error>("node 'y': calls the module 'fd', which Model does not have"));
  const auto no_tensor = parse_graph("%w = self.fc.scale\nreturn %w");
  EXPECT_THAT([&] { lint(*no_tensor, root); },
              ThrowsMessage<Error>("node 'w': reads 'fc.scale', which Model does not have"));
}

}  // namespace
}  // namespace sparsebit::fx::lint_test
