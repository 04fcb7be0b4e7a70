#include "export/subgraphs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::exports::test::subgraphs_test {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

onnx::NodeProto& add_node(onnx::GraphProto& graph, const char* type, const char* input,
                          const char* output) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(type);
  node.add_input(input);
  node.add_output(output);
  return node;
}

onnx::GraphProto& add_graph(onnx::NodeProto& node) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_type(onnx::AttributeProto::GRAPH);
  return *attribute.mutable_g();
}

/// y = If(c): a branch reads `x` and returns `t`; inside, y2 = If(t): a branch reads `x` and
/// returns the captured `z`.
onnx::NodeProto nested() {
  onnx::NodeProto node;
  node.set_op_type("If");
  node.add_input("c");
  node.add_output("y");
  onnx::GraphProto& branch = add_graph(node);
  add_node(branch, "Neg", "x", "t");
  branch.add_output()->set_name("t");
  onnx::GraphProto& inner = add_graph(add_node(branch, "If", "t", "y2"));
  inner.add_initializer()->set_name("w");
  inner.add_input()->set_name("i");
  add_node(inner, "Abs", "x", "u");
  inner.add_output()->set_name("z");
  return node;
}

TEST(Subgraphs, UsesAtEveryDepth) {
  std::unordered_set<std::string> used;
  collect_uses(nested(), used);
  EXPECT_THAT(used, UnorderedElementsAre("c", "x", "t", "z"));
}

TEST(Subgraphs, DefinitionsAtEveryDepth) {
  onnx::GraphProto graph;
  *graph.add_node() = nested();
  std::vector<std::string> names;
  collect_definitions(graph, names);
  EXPECT_THAT(names, UnorderedElementsAre("y", "t", "y2", "i", "w", "u"));
}

/// The node's own inputs are renamed by the caller.
TEST(Subgraphs, CapturedNamesAreRenamedAtEveryDepth) {
  onnx::NodeProto node = nested();
  rename_captured(node, {{"x", "x_1"}, {"z", "z_1"}, {"c", "c_1"}});
  std::unordered_set<std::string> used;
  collect_uses(node, used);
  EXPECT_THAT(used, UnorderedElementsAre("c", "x_1", "t", "z_1"));
}

TEST(Subgraphs, NodesAreVisitedFromOutsideIn) {
  std::vector<std::string> types;
  for_each_node(nested(), [&](const onnx::NodeProto& node) { types.push_back(node.op_type()); });
  EXPECT_THAT(types, ElementsAre("If", "Neg", "If", "Abs"));
}

}  // namespace
}  // namespace sparsebit::exports::test::subgraphs_test
