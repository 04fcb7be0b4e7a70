// Operators that only ONNX has, and those nobody knows.

#include "core/temp_dir.h"
#include "export/export_case.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

namespace sparsebit::exports::test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Carried, UnknownOperatorsAreWrittenBackUnchanged) {
  const auto module = parse_module(
      "%x = input()\n"
      "%y = onnx.my.domain.Twist(%x, None, %x, alpha=0.5, size=3, mode='fast', axes=[1, 2], "
      "_opset=2, _outputs=2)\n"
      "%first = operator.getitem(%y, 0)\n"
      "%z = torch.relu(%first)\n"
      "return %z\n");
  const onnx::ModelProto model = to_onnx(*module, {.inputs = {at::ones({2, 3})}});

  EXPECT_EQ(outline(model),
            "y.0, y.1 = Twist(x, -, x)\n"
            "z = Relu(y.0)\n");
  const onnx::NodeProto& twist = model.graph().node(0);
  EXPECT_EQ(twist.domain(), "my.domain");
  ASSERT_EQ(twist.attribute_size(), 4);
  EXPECT_EQ(twist.attribute(0).f(), 0.5F);
  EXPECT_EQ(twist.attribute(1).i(), 3);
  EXPECT_EQ(twist.attribute(2).s(), "fast");
  EXPECT_EQ(twist.attribute(3).ints_size(), 2);
  ASSERT_EQ(model.opset_import_size(), 2);
  EXPECT_EQ(model.opset_import(1).domain(), "my.domain");
  EXPECT_EQ(model.opset_import(1).version(), 2);
}

TEST(Carried, SubgraphsReadTheNewNames) {
  const std::string branch =
      "name: 'then_branch' type: GRAPH g { name: 'b' node { op_type: 'Add' input: 'old' "
      "input: 'old' output: 'total' } output { name: 'total' type { tensor_type { elem_type: 1 } } "
      "} }";
  std::string other = branch;
  other.replace(other.find("then"), 4, "else");
  other.replace(other.find("output: 'total'"), 15, "output: 'two'");
  other.replace(other.find("{ name: 'total'"), 15, "{ name: 'two'");
  auto module = parse_module(
      "%x = input()\n"
      "%c = input()\n"
      "%total = torch.mul(%x, 2)\n"
      "return %total\n");
  fx::Graph& graph = module->graph();
  fx::Node& total = *graph.find("total");
  const auto guard = graph.inserting_after(total);
  fx::Node& choice = graph.call_function("onnx.If", {fx::Value(*graph.find("c")), fx::Value(total)},
                                         {{"then_branch", fx::Dict{{"onnx", branch}}},
                                          {"else_branch", fx::Dict{{"onnx", other}}},
                                          {"_opset", 13},
                                          {"_outputs", 1},
                                          {"_captures", fx::List{"old"}}});
  choice.set_tensor_info(fx::TensorInfo{{2}, at::kFloat});
  graph.output_node()->set_args({fx::Value(choice)});

  const at::Tensor x = at::tensor({1.0F, 2.0F}), yes = at::scalar_tensor(true, at::kBool);
  const onnx::ModelProto model = to_onnx(*module, {.inputs = {x, yes}});
  // The subgraph has a value called 'total', so the node of that name gets another.
  EXPECT_EQ(model.graph().node(0).output(0), "total_1");
  EXPECT_EQ(model.graph().node(1).attribute(0).g().node(0).input(0), "total_1");
  const sparsebit::test::TempDir dir;
  OrtQueue queue(dir.path());
  queue.add("If", model, {x, yes}, {x * 4});
  EXPECT_EQ(queue.run(), 1U);
}

TEST(Carried, AnotherOpsetIsRefusedWhereItMatters) {
  const auto module = parse_module(
      "%x = input()\n%y = onnx.Softmax(%x, axis=1, _opset=11, _outputs=1)\nreturn %y\n");
  EXPECT_EQ(outline(to_onnx(*module, {.opset = 12, .inputs = {at::ones({2, 3})}})),
            "y = Softmax(x)\n");
  EXPECT_THAT(
      [&] {
        to_onnx(*module, {.opset = 13, .inputs = {at::ones({2, 3})}});
      },
      ThrowsMessage<Error>(HasSubstr(
          "node 'y': Softmax was written for opset 11 and is another operator in opset 13; "
          "export with opset 11")));
}

struct OnnxCase {
  const char* call;
  int64_t opset;
  const char* outline;
};

TEST(OnnxOperators, AreWrittenInTheFormOfTheOpset) {
  const OnnxCase cases[] = {
      {"onnx.ReduceSum(%x, [1], 0)", 11, "y = ReduceSum(x)\n"},
      {"onnx.ReduceSum(%x, [1], 0)", 13, "y = ReduceSum(x, y/constant)\n"},
      {"onnx.Squeeze(%x)", 13, "y = Squeeze(x)\n"},
      {"onnx.QuantizeLinear(%x, tensor(0.5, dtype=torch.float32), tensor(3, "
       "dtype=torch.int8))",
       13, "y = QuantizeLinear(x, y/constant, y/constant_1)\n"},
  };
  for (const OnnxCase& c : cases) {
    const auto module = parse_module(c10::str("%x = input()\n%y = ", c.call, "\nreturn %y\n"));
    try {
      EXPECT_EQ(outline(to_onnx(*module, {.opset = c.opset, .inputs = {at::ones({3, 4})}})),
                c.outline)
          << c.call << " at opset " << c.opset;
    } catch (const std::exception& e) {
      ADD_FAILURE() << c.call << ": " << e.what();
    }
  }
}

}  // namespace
}  // namespace sparsebit::exports::test
