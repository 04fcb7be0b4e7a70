#include "export/certificate/quantized_facts.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

namespace sparsebit::exports::quantized_facts_test {
namespace {

onnx::NodeProto& add_node(onnx::GraphProto& graph, const char* type, const char* input,
                          const char* output) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(type);
  node.add_input(input);
  node.add_output(output);
  return node;
}

/// Outputs `boxes`, `chosen` and `features`; only the last does not depend on NMS.
onnx::ModelProto detector() {
  onnx::ModelProto model;
  onnx::GraphProto& graph = *model.mutable_graph();
  add_node(graph, "Conv", "x", "features");
  add_node(graph, "NonMaxSuppression", "features", "indices");
  add_node(graph, "Gather", "indices", "boxes");
  onnx::NodeProto& branch = add_node(graph, "If", "features", "chosen");
  onnx::AttributeProto& then = *branch.add_attribute();
  then.set_type(onnx::AttributeProto::GRAPH);
  add_node(*then.mutable_g(), "NonMaxSuppression", "features", "inner");
  for (const char* name : {"boxes", "chosen", "features"}) graph.add_output()->set_name(name);
  return model;
}

TEST(QuantizedFacts, OutputsThatAreSelectedBoxes) {
  const QuantizedFacts facts = quantized_facts(detector());
  ASSERT_EQ(facts.outputs.size(), 3u);
  EXPECT_TRUE(facts.outputs[0].selected);
  EXPECT_TRUE(facts.outputs[1].selected);  // inside of an If
  EXPECT_FALSE(facts.outputs[2].selected);
  EXPECT_TRUE(facts.selects_boxes());
  EXPECT_FALSE(facts.is_quantized());
}

TEST(QuantizedFacts, NothingIsSelectedElsewhere) {
  onnx::ModelProto model;
  add_node(*model.mutable_graph(), "Conv", "x", "y");
  model.mutable_graph()->add_output()->set_name("y");
  EXPECT_FALSE(quantized_facts(model).selects_boxes());
}

}  // namespace
}  // namespace sparsebit::exports::quantized_facts_test
