#include "sparsebit/fx/graph.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/lint.h"
#include "sparsebit/fx/parser.h"
#include "sparsebit/fx/printer.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::fx::graph_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<std::string> names(const Graph& graph) {
  std::vector<std::string> result;
  for (const Node& node : graph.nodes()) result.push_back(node.name());
  return result;
}

std::vector<std::string> user_names(const Node& node) {
  std::vector<std::string> result;
  for (const Node* user : node.users()) result.push_back(user->name());
  return result;
}

TEST(Graph, LinksFollowTheArguments) {
  Graph graph;
  Node& x = graph.placeholder("x");
  Node& y = graph.placeholder("y");
  Node& add = graph.call_function("torch.add", {x, x}, {{"alpha", y}});
  EXPECT_THAT(add.inputs(), ElementsAre(&x, &y));
  EXPECT_EQ(x.users().size(), 1u);  // used twice by one node
  add.set_args({y, 1});
  EXPECT_THAT(add.inputs(), ElementsAre(&y));
  EXPECT_TRUE(x.users().empty());
}

TEST(Graph, FindsNodesInNestedArguments) {
  Graph graph;
  Node& a = graph.placeholder("a");
  Node& b = graph.placeholder("b");
  Node& c = graph.placeholder("c");
  Node& d = graph.placeholder("d");
  Node& call = graph.call_function(
      "f", {List{a, Tuple{1, Dict{{"k", b}}}}, Slice(c, None()), "text"}, {{"w", Tuple{d, a}}});
  EXPECT_THAT(call.inputs(), ElementsAre(&a, &b, &c, &d));
  EXPECT_EQ(
      to_string(call),
      "%f : [#users=0] = call_function[target=f](args=([%a, (1, {k: %b})], slice(%c, None, None), "
      "'text'), kwargs={w: (%d, %a)})");
}

TEST(Graph, InsertionPointsNest) {
  Graph graph;
  Node& x = graph.placeholder("x");
  Node& y = graph.call_function("torch.neg", {x});
  graph.output(y);
  {
    const auto before_y = graph.inserting_before(y);
    graph.call_function("a", {x});
    {
      const auto after_x = graph.inserting_after(x);
      graph.call_function("b", {x});
      graph.call_function("c", {x});
    }
    graph.call_function("d", {x});
  }
  graph.call_function("e", {x});
  EXPECT_THAT(names(graph), ElementsAre("x", "b", "c", "a", "d", "neg", "output", "e"));
}

TEST(Graph, InsertionPointSurvivesTheErasureOfItsNode) {
  Graph graph;
  Node& x = graph.placeholder("x");
  Node& dead = graph.call_function("dead", {x});
  Node& last = graph.call_function("last", {x});
  const auto point = graph.inserting_before(dead);
  graph.erase(dead);
  graph.call_function("fresh", {x});
  EXPECT_EQ(last.previous()->name(), "fresh");
}

TEST(Graph, OuterInsertionPointsSurviveErasureToo) {
  Graph graph;
  Node& x = graph.placeholder("x");
  Node& dead = graph.call_function("dead", {x});
  Node& last = graph.call_function("last", {x});
  const auto outer = graph.inserting_before(dead);
  {
    const auto inner = graph.inserting_before(last);
    graph.erase(dead);
  }
  graph.call_function("fresh", {x});
  EXPECT_THAT(names(graph), ElementsAre("x", "fresh", "last"));
}

TEST(Graph, ReplaceAllUsesKeepsTheReplacementsOwnUse) {
  const auto graph = parse_graph(R"(
      %x = input()
      %a = torch.neg(%x)
      %b = torch.add(%x, %x)
      return (%x, %b))");
  Node& x = *graph->find("x");
  Node& a = *graph->find("a");
  const std::vector<Node*> changed = x.replace_all_uses_with(a);
  EXPECT_THAT(changed, ElementsAre(graph->find("b"), graph->output_node()));
  EXPECT_THAT(user_names(x), ElementsAre("a"));
  EXPECT_EQ(to_string(*graph->find("b")),
            "%b : [#users=1] = call_function[target=torch.add](args=(%a, %a), kwargs={})");
  EXPECT_EQ(to_string(*graph->output_node()), "return (a, b)");
}

TEST(Graph, ReplaceInputChangesOneUser) {
  const auto graph = parse_graph(R"(
      %x = input()
      %y = input()
      %a = torch.add(%x, [%x, 1], other=%x)
      %b = torch.neg(%x)
      return (%a, %b))");
  graph->find("a")->replace_input_with(*graph->find("x"), *graph->find("y"));
  EXPECT_EQ(
      to_string(*graph->find("a")),
      "%a : [#users=1] = call_function[target=torch.add](args=(%y, [%y, 1]), kwargs={other: %y})");
  EXPECT_THAT(user_names(*graph->find("x")), ElementsAre("b"));
}

TEST(Graph, UsedNodesCannotBeErased) {
  const auto graph = parse_graph("%x = input()\n%y = torch.neg(%x)\nreturn %y");
  EXPECT_THAT([&] { graph->erase(*graph->find("x")); },
              ThrowsMessage<Error>("node 'x' cannot be erased while it is used by 'y'"));
  EXPECT_EQ(graph->size(), 3u);
}

TEST(Graph, NodesOfOtherGraphsAreRefused) {
  Graph one, two;
  Node& x = one.placeholder("x");
  Node& y = one.call_function("torch.neg", {x});
  Node& foreign = two.placeholder("z");
  EXPECT_THAT([&] { y.replace_input_with(x, foreign); },
              ThrowsMessage<Error>("node 'z' belongs to another graph than 'neg'"));
  EXPECT_THAT([&] { (void)one.inserting_before(foreign); },
              ThrowsMessage<Error>("node 'z' belongs to another graph"));
  Node& stray = one.call_function("f", {foreign});
  EXPECT_THAT([&] { one.sort_topologically(); },
              ThrowsMessage<Error>("node 'z' belongs to another graph"));
  one.erase(stray);
  EXPECT_THAT([&] { one.merge(one, std::vector<Value>{1}); },
              ThrowsMessage<Error>("a graph cannot be merged into itself; clone it"));
  EXPECT_THAT([&] { one.erase(foreign); },
              ThrowsMessage<Error>("node 'z' belongs to another graph"));
}

TEST(Graph, NamesAreNotReusedAfterErasure) {
  Graph graph;
  Node& x = graph.placeholder("x");
  Node& first = graph.call_function("torch.relu", {x});
  graph.erase(first);
  EXPECT_EQ(graph.call_function("torch.relu", {x}).name(), "relu_1");
}

TEST(Graph, RenameFollowsTheNamingRules) {
  Graph graph;
  Node& x = graph.placeholder("input");
  EXPECT_EQ(x.name(), "input_1");
  EXPECT_EQ(x.rename("x"), "x");
  EXPECT_EQ(x.rename("x"), "x");
  EXPECT_EQ(graph.placeholder("x").name(), "x_1");
}

TEST(Graph, NamesCanBeSwapped) {
  Graph graph;
  Node& x = graph.placeholder("x");
  Node& old = graph.call_function("torch.relu", {x});
  Node& replacement = graph.call_function("torch.relu6", {x});
  replacement.swap_name(old);
  EXPECT_EQ(replacement.name(), "relu");
  EXPECT_EQ(graph.find("relu6"), &old);
  Graph other;
  EXPECT_THROW(x.swap_name(other.placeholder("y")), Error);
}

TEST(Graph, SortIsStable) {
  const auto graph = parse_graph(R"(
      %x = input()
      %a = torch.neg(%x)
      %b = torch.abs(%x)
      %c = torch.add(%a, %b)
      return %c)");
  const std::string text = to_text(*graph);
  graph->sort_topologically();
  EXPECT_EQ(to_text(*graph), text);
}

TEST(Graph, SortPutsProducersFirst) {
  Graph graph;
  Node& x = graph.placeholder("x");
  Node& b = graph.call_function("b", {x});
  Node& c = graph.call_function("c", {x});
  graph.output(c);
  b.set_args({c});  // b now comes before its input
  EXPECT_THROW(lint(graph), Error);
  graph.sort_topologically();
  EXPECT_THAT(names(graph), ElementsAre("x", "c", "b", "output"));
  lint(graph);
}

TEST(Graph, SortReportsCycles) {
  Graph graph;
  Node& a = graph.call_function("a", {});
  Node& b = graph.call_function("b", {a});
  a.set_args({b});
  EXPECT_THAT([&] { graph.sort_topologically(); },
              ThrowsMessage<Error>(HasSubstr("the graph has a cycle through")));
}

TEST(Graph, CloneIsEqualAndIndependent) {
  const auto graph = parse_graph(R"(
      %x = input()
      %w = self.fc.weight
      %y = torch.nn.functional.linear(%x, %w, bias=None)
      %z = %y.view(2, -1)
      return {out: %z, all: [%x, %y]})");
  graph->find("y")->set_tensor_info(TensorInfo{{2, 3}, at::kFloat});
  const auto copy = graph->clone();
  EXPECT_EQ(to_text(*copy), to_text(*graph));
  EXPECT_EQ(copy->find("y")->tensor_info(), graph->find("y")->tensor_info());
  lint(*copy);
  copy->find("z")->set_args({*copy->find("x")});
  EXPECT_EQ(graph->find("z")->inputs()[0], graph->find("y"));
  EXPECT_EQ(copy->call_function("torch.neg", {}).name(), "neg");
  EXPECT_EQ(copy->placeholder("x").name(), "x_1");  // names are taken in the copy, too
}

TEST(Graph, MergeInlinesTheOtherGraph) {
  const auto inner = parse_graph(R"(
      %x = input()
      %y = input()
      %a = torch.add(%x, %y)
      return (%a, %y))");
  const auto outer = parse_graph("%x = input()\n%n = torch.neg(%x)\nreturn %n");
  const auto point = outer->inserting_before(*outer->output_node());
  const Value result = outer->merge(*inner, std::vector<Value>{*outer->find("n"), 2});
  outer->output_node()->set_args({result});
  EXPECT_EQ(to_text(*outer), R"(graph:
    %x : [#users=1] = placeholder[target=x]
    %n : [#users=1] = call_function[target=torch.neg](args=(%x,), kwargs={})
    %a : [#users=1] = call_function[target=torch.add](args=(%n, 2), kwargs={})
    return (a, 2)
)");
  lint(*outer);
}

TEST(Graph, MergeChecksTheNumberOfInputs) {
  const auto inner = parse_graph("%x = input()\nreturn %x");
  Graph outer;
  EXPECT_THAT([&] { outer.merge(*inner, {}); },
              ThrowsMessage<Error>("the merged graph has 1 inputs, got 0"));
}

TEST(Graph, VersionChangesWithEdits) {
  Graph graph;
  Node& x = graph.placeholder("x");
  Node& y = graph.call_function("torch.neg", {x});
  uint64_t version = graph.version();
  const auto changed = [&] { return std::exchange(version, graph.version()) != version; };
  y.set_args({x});
  EXPECT_TRUE(changed());
  y.set_target("torch.abs");
  EXPECT_TRUE(changed());
  graph.erase(y);
  EXPECT_TRUE(changed());
  EXPECT_FALSE(changed());
}

TEST(Graph, ModulePathIsTheTargetOfAModuleCall) {
  Graph graph;
  Node& x = graph.placeholder("x");
  Node& conv = graph.call_module("layer1.0.conv1", {x});
  conv.set_module_path("layer1.0");
  EXPECT_EQ(conv.module_path(), "layer1.0.conv1");
  EXPECT_EQ(conv.name(), "layer1_0_conv1");
  Node& relu = graph.call_function("torch.relu", {conv});
  relu.set_module_path("layer1.0");
  EXPECT_EQ(relu.module_path(), "layer1.0");
}

}  // namespace
}  // namespace sparsebit::fx::graph_test
