#include "frontends/onnx/model_builder.h"

#include "sparsebit/fx/computable.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

namespace sparsebit::test::control_flow_test {
namespace {

using testing::ElementsAre;

/// A graph with one node that reads `input` and gives `result`.
onnx::GraphProto one_node(const std::string& type, const std::vector<std::string>& inputs,
                          const std::string& result) {
  onnx::GraphProto graph;
  graph.set_name(type);
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(type);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(result);
  graph.add_output()->set_name(result);
  return graph;
}

void add_graph(onnx::NodeProto& node, const std::string& name, onnx::GraphProto graph) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::GRAPH);
  *attribute.mutable_g() = std::move(graph);
}

/// Adds an If whose branches both name their result "v".
void add_if(onnx::GraphProto& graph, const std::string& condition, const std::string& input,
            const std::string& result) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type("If");
  node.add_input(condition);
  node.add_output(result);
  add_graph(node, "then_branch", one_node("Relu", {input}, "v"));
  add_graph(node, "else_branch", one_node("Neg", {input}, "v"));
}

TEST(ControlFlow, IfWithKnownConditionBecomesItsBranch) {
  ModelBuilder builder(13);
  builder.input("x", {2, 3}).constant("yes", at::scalar_tensor(true, at::kBool));
  builder.node("Shape", {"x"}, {"sizes"})
      .constant("first", at::scalar_tensor(0, at::kLong))
      .constant("three", at::scalar_tensor(3, at::kLong))
      .node("Gather", {"sizes", "first"}, {"rows"})
      .node("Equal", {"rows", "three"}, {"is_three"});
  onnx::GraphProto& graph = *builder.model().mutable_graph();
  add_if(graph, "yes", "x", "a");
  add_if(graph, "is_three", "a", "y");  // its branches use the same value names
  const auto module = builder.output("y").import();
  EXPECT_THAT(calls(*module), ElementsAre("torch.nn.functional.relu", "torch.neg"));
  const at::Tensor x = at::tensor({-1.f, 2.f, 3.f, -4.f, 5.f, 6.f}).view({2, 3});
  EXPECT_TRUE(run(*module, {x})[0].equal(-x.relu()));
}

TEST(ControlFlow, NestedIfIsFolded) {
  ModelBuilder builder(13);
  builder.input("x", {2}).constant("yes", at::scalar_tensor(true, at::kBool));
  onnx::GraphProto inner;
  inner.set_name("inner");
  add_if(inner, "yes", "x", "w");
  inner.add_output()->set_name("w");
  onnx::NodeProto& node = *builder.model().mutable_graph()->add_node();
  node.set_op_type("If");
  node.add_input("yes");
  node.add_output("y");
  add_graph(node, "then_branch", inner);
  add_graph(node, "else_branch", one_node("Neg", {"x"}, "v"));
  EXPECT_THAT(calls(*builder.output("y").import()), ElementsAre("torch.nn.functional.relu"));
}

TEST(ControlFlow, IfRunsTheBranchThatDataChooses) {
  ModelBuilder builder(13);
  builder.input("x", {3}).input("c", {}, at::kBool);
  add_if(*builder.model().mutable_graph(), "c", "x", "y");
  const auto module = builder.output("y").import();
  EXPECT_THAT(calls(*module), ElementsAre("onnx.If"));
  EXPECT_TRUE(fx::uncomputable_nodes(*module).empty());
  const at::Tensor x = at::tensor({-1.f, 2.f, 3.f});
  EXPECT_TRUE(run(*module, {x, at::scalar_tensor(true, at::kBool)})[0].equal(x.relu()));
  EXPECT_TRUE(run(*module, {x, at::scalar_tensor(false, at::kBool)})[0].equal(-x));
}

/// A loop that adds 1 to x: y is the final value, `all` the value after each iteration.
std::unique_ptr<fx::GraphModule> counting_loop() {
  ModelBuilder builder(13);
  builder.input("x", {2}).input("times", {}, at::kLong);
  builder.constant("yes", at::scalar_tensor(true, at::kBool))
      .constant("one", at::scalar_tensor(1.f));
  onnx::GraphProto body = one_node("Add", {"state", "one"}, "next");
  body.clear_output();
  for (const char* name : {"i", "go_on", "state"}) body.add_input()->set_name(name);
  for (const char* name : {"go_on", "next", "next"}) body.add_output()->set_name(name);
  onnx::NodeProto& node = *builder.model().mutable_graph()->add_node();
  node.set_op_type("Loop");
  for (const char* name : {"times", "yes", "x"}) node.add_input(name);
  for (const char* name : {"y", "all"}) node.add_output(name);
  add_graph(node, "body", body);
  return builder.output("y").output("all").import();
}

TEST(ControlFlow, LoopsRun) {
  const auto module = counting_loop();
  const at::Tensor x = at::tensor({1.f, 5.f});
  const auto results = run(*module, {x, at::scalar_tensor(3, at::kLong)});
  EXPECT_TRUE(results[0].equal(x + 3));
  EXPECT_TRUE(results[1].equal(at::stack({x + 1, x + 2, x + 3})));
  EXPECT_TRUE(run(*module, {x, at::scalar_tensor(0, at::kLong)})[0].equal(x));
}

TEST(ControlFlow, UnknownOperatorsInsideAreNotComputable) {
  ModelBuilder builder(13);
  builder.input("x", {3}).input("c", {}, at::kBool);
  onnx::GraphProto& graph = *builder.model().mutable_graph();
  add_if(graph, "c", "x", "v");
  graph.mutable_node(0)->mutable_attribute(0)->mutable_g()->mutable_node(0)->set_op_type("Magic");
  builder.node("Relu", {"v"}, {"y"});
  const auto module = builder.output("y").import();
  const auto unknown = fx::uncomputable_nodes(*module);
  ASSERT_EQ(unknown.size(), 2U);
  for (const auto& [node, source] : unknown) EXPECT_EQ(source->target(), "onnx.If");
}

TEST(ControlFlow, ClipWithBoundsOfOneElementIsRelu6) {
  ModelBuilder builder(13);
  builder.input("x", {3}).constant("low", at::tensor({0.f})).constant("high", at::tensor({6.f}));
  const auto module = builder.node("Clip", {"x", "low", "high"}, {"y"}).output("y").import();
  EXPECT_THAT(calls(*module), ElementsAre("torch.nn.functional.relu6"));
}

}  // namespace
}  // namespace sparsebit::test::control_flow_test
