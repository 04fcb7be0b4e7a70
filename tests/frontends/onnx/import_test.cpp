#include "sparsebit/frontends/onnx.h"
#include "sparsebit/fx/foreign_input.h"

#include "frontends/onnx/model_builder.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/log.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/printer.h"
#include "sparsebit/io/onnx_tensor.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::frontends::import_test {
namespace {

using fx::GraphModule;
using Calls = std::vector<std::string>;
using test::calls;
using test::ModelBuilder;
using test::run;
using test::text_of;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::unique_ptr<GraphModule> import(const std::string& graph, int opset = 13) {
  return import_onnx(test::model_from_text(graph, opset), {.name = "m.onnx"});
}

void add_weight(onnx::ModelProto& model, const std::string& name, const at::Tensor& tensor) {
  *model.mutable_graph()->add_initializer() = io::to_tensor_proto(tensor, name);
}

TEST(OnnxImport, InputsKeepNamesTypesAndShapes) {
  const auto module = import(
      "(float[batch, 4] x, int64[2] i) => (float[batch, 4] y) "
      "{ y = Relu(x) }");
  const fx::Node& x = *module->graph().placeholders()[0];
  EXPECT_EQ(x.target(), "x");
  EXPECT_EQ(*x.tensor_info(), (fx::TensorInfo{{-1, 4}, at::kFloat, {"batch", ""}}));
  EXPECT_EQ(*module->graph().placeholders()[1]->tensor_info(), (fx::TensorInfo{{2}, at::kLong}));
  EXPECT_THAT(module->output_names(), testing::ElementsAre("y"));
  EXPECT_FALSE(module->is_training());
}

TEST(OnnxImport, WeightsBecomeLayersAtTheirPaths) {
  onnx::ModelProto model = test::model_from_text(
      "(float[N, 3, 8, 8] x) => (float[N, 4, 8, 8] y) {"
      " a = Conv <pads = [1, 1, 1, 1]> (x, layer1__0__conv1__weight)"
      " y = BatchNormalization (a, bn__weight, bn__bias, bn__mean, bn__var) }");
  add_weight(model, "layer1.0.conv1.weight", at::randn({4, 3, 3, 3}));
  for (const char* name : {"bn.weight", "bn.bias", "bn.mean", "bn.var"}) {
    add_weight(model, name, at::rand({4}));
  }
  const auto module = import_onnx(std::move(model));
  EXPECT_EQ(text_of(*module),
            "%x : [#users=1] = placeholder[target=x]\n"
            "%layer1_0_conv1 : [#users=1] = call_module[target=layer1.0.conv1]"
            "(args=(%x,), kwargs={})\n"
            "%bn : [#users=1] = call_module[target=bn](args=(%layer1_0_conv1,), kwargs={})\n"
            "return bn\n");
  EXPECT_EQ(module->find_module("layer1.0.conv1")->type(), "torch.nn.Conv2d");
  EXPECT_EQ(module->find_module("bn")->type(), "torch.nn.BatchNorm2d");
  EXPECT_EQ(module->graph().find("bn")->tensor_info()->shape, (std::vector<int64_t>{-1, 4, 8, 8}));
}

TEST(OnnxImport, NodeNamesGivePathsWhenWeightsHaveNone) {
  onnx::ModelProto model = test::model_from_text(
      "(float[N, 3] x) => (float[N, 2] y) { a = Gemm <transB = 1> (x, w) y = Gemm (a, v) }");
  model.mutable_graph()->mutable_node(0)->set_name("/head/head.0/Gemm");
  add_weight(model, "w", at::randn({4, 3}));
  add_weight(model, "v", at::randn({4, 2}));
  const auto module = import_onnx(std::move(model));
  EXPECT_EQ(module->find_module("head.0")->type(), "torch.nn.Linear");
  EXPECT_EQ(module->find_module("Gemm_1")->type(), "torch.nn.Linear");
}

TEST(OnnxImport, MatMulAndAddAreOneLinear) {
  onnx::ModelProto model = test::model_from_text(
      "(float[N, 5, 3] x) => (float[N, 5, 4] y) { a = MatMul (x, w) y = Add (query__bias, a) }");
  const at::Tensor weight = at::randn({3, 4}), bias = at::randn({4}), x = at::randn({2, 5, 3});
  add_weight(model, "w", weight);
  add_weight(model, "query.bias", bias);
  const auto module = import_onnx(std::move(model));
  EXPECT_EQ(module->graph().size(), 3U) << text_of(*module);
  EXPECT_TRUE(at::allclose((*module)(x).tensor(), x.matmul(weight) + bias));
}

TEST(OnnxImport, AMatMulThatOthersReadKeepsItsAdd) {
  onnx::ModelProto model = test::model_from_text(
      "(float[N, 3] x) => (float[N, 4] y, float[N, 4] a) { a = MatMul (x, w) y = Add (a, b) }");
  const at::Tensor weight = at::randn({3, 4}), bias = at::randn({4}), x = at::randn({2, 3});
  add_weight(model, "w", weight);
  add_weight(model, "b", bias);
  const fx::Value result = (*import_onnx(std::move(model)))(x);
  EXPECT_TRUE(at::allclose(result.items()[0].tensor(), x.matmul(weight) + bias));
  EXPECT_TRUE(at::allclose(result.items()[1].tensor(), x.matmul(weight)));
}

TEST(OnnxImport, AMatMulWithASecondNameKeepsItsAdd) {
  for (const std::string nodes : {"i = Identity (a) y = Add (i, b) z = Relu (a)",
                                  "i = Identity (a) z = Relu (a) y = Add (i, b)"}) {
    onnx::ModelProto model = test::model_from_text(
        "(float[N, 3] x) => (float[N, 4] y, float[N, 4] z) { a = MatMul (x, w) " + nodes + " }");
    const at::Tensor weight = at::randn({3, 4}), bias = at::randn({4}), x = at::randn({2, 3});
    add_weight(model, "w", weight);
    add_weight(model, "b", bias);
    const fx::Value result = (*import_onnx(std::move(model)))(x);
    EXPECT_TRUE(at::allclose(result.items()[0].tensor(), x.matmul(weight) + bias)) << nodes;
    EXPECT_TRUE(at::allclose(result.items()[1].tensor(), x.matmul(weight).relu())) << nodes;
  }
}

/// The name and weights of a layer that is not used are free for other layers.
TEST(OnnxImport, LayersThatAreNotUsedLeaveNothing) {
  onnx::ModelProto model = test::model_from_text(
      "(float[N, 3] x) => (float[N, 3] y, float[N, 3] z) {"
      " y = Gemm <turbo = 1> (x, fc__weight) z = Add (x, fc__weight) }");
  add_weight(model, "fc.weight", at::randn({3, 3}));
  const auto module = import_onnx(std::move(model));
  EXPECT_EQ(test::calls(*module), (std::vector<std::string>{"onnx.Gemm", "torch.add"}));
  EXPECT_TRUE(module->find_tensor("fc.weight"));
  ASSERT_TRUE(module->find_module("fc"));
  EXPECT_EQ(module->find_module("fc")->type(), "Module");
  EXPECT_EQ(module->named_parameters().size(), 1U);
}

/// Names of equal nodes are numbered without gaps, even if a MatMul's layer is replaced.
TEST(OnnxImport, EqualNamesAreNumbered) {
  std::string nodes, last = "x";
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i);
    nodes += " m" + n + " = MatMul (" + last + ", w" + n + ") y" + n + " = Add (m" + n + ", b)";
    last = "y" + n;
  }
  onnx::ModelProto model =
      test::model_from_text("(float[N, 2] x) => (float[N, 2] y3) {" + nodes + " }");
  for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) node.set_name("a/b/Op");
  add_weight(model, "b", at::ones({2}));
  for (int i = 0; i < 4; ++i) add_weight(model, "w" + std::to_string(i), at::eye(2) * (i + 1));
  const auto module = import_onnx(std::move(model));
  for (const char* path : {"a.b", "a_b", "a_b_1", "a_b_2"}) {
    ASSERT_TRUE(module->find_module(path)) << path;
    EXPECT_EQ(module->find_module(path)->type(), "torch.nn.Linear") << path;
  }
  EXPECT_EQ(module->named_parameters().size(), 5U);  // they share the bias
}

TEST(OnnxImport, ALayerCalledTwiceIsOneModule) {
  onnx::ModelProto model = test::model_from_text(
      "(float[N, 3] x) => (float[N, 3] y) { a = Gemm (x, fc__weight) y = Gemm (a, fc__weight) }");
  add_weight(model, "fc.weight", at::randn({3, 3}));
  const auto module = import_onnx(std::move(model));
  EXPECT_EQ(module->named_parameters().size(), 1U);
  EXPECT_THAT(text_of(*module), HasSubstr("%fc_1 : [#users=1] = call_module[target=fc]"));
}

TEST(OnnxImport, ShapeArithmeticOfFixedSizesIsComputed) {
  const auto module = import(
      "(float[2, 3, 4] x) => (float[2, 12] y) {"
      " s = Shape (x) i = Constant <value = int64[1] {0}> () n = Gather (s, i)"
      " m = Constant <value = int64[1] {-1}> () t = Concat <axis = 0> (n, m) y = Reshape (x, t) }");
  EXPECT_THAT(text_of(*module), HasSubstr("[target=torch.reshape](args=(%x, [2, -1]), kwargs={})"));
}

TEST(OnnxImport, ShapeArithmeticOfOtherSizesIsDoneWithInts) {
  const auto module = import(
      "(float[N, 3, 4] x) => (float[M, 6] y) {"
      " s = Shape (x) i = Constant <value = int64 {0}> () n = Gather (s, i)"
      " two = Constant <value = int64 {2}> () d = Mul (n, two) axes = Constant <value = int64[1] "
      "{0}> ()"
      " u = Unsqueeze (d, axes) m = Constant <value = int64[1] {-1}> ()"
      " t = Concat <axis = 0> (u, m) y = Reshape (x, t) }");
  EXPECT_EQ(text_of(*module),
            "%x : [#users=2] = placeholder[target=x]\n"
            "%size : [#users=1] = call_method[target=size](args=(%x, 0), kwargs={})\n"
            "%mul : [#users=1] = call_function[target=operator.mul](args=(%size, 2), kwargs={})\n"
            "%reshape : [#users=1] = call_function[target=torch.reshape]"
            "(args=(%x, [%mul, -1]), kwargs={})\n"
            "return reshape\n");
  EXPECT_EQ((*module)(at::randn({5, 3, 4})).tensor().sizes(), (at::IntArrayRef{10, 6}));
}

TEST(OnnxImport, QuotientsOfDifferencesRoundTowardsZero) {
  const auto module = import(
      "(float[N] x) => (int64 y) {"
      " s = Shape (x) i = Constant <value = int64 {0}> () n = Gather (s, i)"
      " ten = Constant <value = int64 {10}> () d = Sub (n, ten)"
      " three = Constant <value = int64 {3}> () y = Div (d, three) }");
  EXPECT_EQ((*module)(at::zeros({3})).tensor().item<int64_t>(), -2);
}

/// One constant of 1 MB, concatenated with itself: folded only up to the memory budget of the file.
TEST(OnnxImport, JoinedConstantsAreLeftToTheRunWhenTheyAreMany) {
  const auto joined = [](size_t count, const at::Tensor& value) {
    return calls(
        *ModelBuilder(13)
             .input("x", {1})
             .constant("c", value)
             .node("Concat", std::vector<std::string>(count, "c"), {"y"}, {{"axis", int64_t{0}}})
             .output("y")
             .import());
  };
  const at::Tensor constant = at::zeros({1 << 18});
  EXPECT_EQ(joined(20, constant), Calls{});
  EXPECT_EQ(joined(200, constant), Calls{"torch.cat"});
}

TEST(OnnxImport, LongListsAreNotShapeArithmetic) {
  for (const char* type : {"Gather", "Mul"}) {
    const auto module = ModelBuilder(13)
                            .input("x", {-1})
                            .constant("c", at::zeros({2000}, at::kLong))
                            .node("Shape", {"x"}, {"s"})
                            .node(type, {"s", "c"}, {"y"})
                            .output("y")
                            .import();
    EXPECT_LT(text_of(*module).size(), 2000U) << type;
    EXPECT_EQ(run(*module, {at::ones({3})})[0].size(0), 2000) << type;
  }
}

TEST(OnnxImport, ConstantsThatGrowAreLeftToTheRun) {
  std::string nodes = "a0 = Concat <axis = 0> (w, w) ";
  for (int i = 0; i < 30; ++i) {
    nodes += "a" + std::to_string(i + 1) + " = Concat <axis = 0> (a" + std::to_string(i) + ", a" +
             std::to_string(i) + ") ";
  }
  onnx::ModelProto model =
      test::model_from_text("(float[N] x) => (float[M] y) { " + nodes + " y = Add (x, a30) }");
  add_weight(model, "w", at::ones({1024}));  // would become 8 TB
  int64_t bytes = 0;
  for (const auto& item : import_onnx(std::move(model))->state_dict())
    bytes += item.value().nbytes();
  EXPECT_LT(bytes, int64_t{1} << 28);
}

TEST(OnnxImport, ANodeWithoutResultsIsAnError) {
  onnx::ModelProto model = test::model_from_text("(float[2] x) => (float[2] y) { y = Relu (x) }");
  onnx::NodeProto& node = *model.mutable_graph()->add_node();
  node.set_op_type("Split");
  node.set_name("cut\nhere");
  node.add_input("x");
  EXPECT_THAT([&] { import_onnx(std::move(model), {.name = "m.onnx"}); },
              ThrowsMessage<Error>("m.onnx: node 'cut?here' (Split): has no results"));
}

TEST(OnnxImport, UnknownOperatorsAreCarriedAndOnlyRunningThemFails) {
  const auto module = import(
      "(float[N, 3] x) => (float[N, 3] y, float[N] z) {"
      " y, z = custom.ops.Magic <level = 2, names = [\"a\", \"b\"], rate = 0.5> (x, , x) }");
  EXPECT_THAT(text_of(*module),
              HasSubstr("[target=onnx.custom.ops.Magic](args=(%x, None, %x), kwargs={level: 2, "
                        "names: ['a', 'b'], rate: 0.5, _opset: 3, _outputs: 2})"));
  EXPECT_THAT(
      [&] {
        (*module)(at::randn({2, 3}));
      },
      ThrowsMessage<Error>(HasSubstr("onnx.custom.ops.Magic")));
}

TEST(OnnxImport, AttributesNobodyKnowsMakeAnOperatorUnknown) {
  const auto module = import("(float[N] x) => (float[N] y) { y = Relu <turbo = 1> (x) }");
  EXPECT_THAT(text_of(*module), HasSubstr(R"(_reason: 'the attribute \'turbo\' is not known')"));
}

TEST(OnnxImport, SubgraphsAreCarriedWithWhatTheyTakeFromOutside) {
  const auto module = import(
      "(bool c, float[2] x) => (float[2] y) {"
      " a = Relu (x)"
      " y = If <then_branch = t () => (float[2] r) { r = Neg (a) },"
      "         else_branch = e () => (float[2] q) { q = Abs (a) }> (c) }");
  EXPECT_THAT(text_of(*module), HasSubstr("[target=onnx.If](args=(%c, %relu), kwargs="));
  EXPECT_THAT(text_of(*module), HasSubstr("_captures: ['a']"));
}

TEST(OnnxImport, NodesMayStandInAnyOrder) {
  const auto module = import("(float[2] x) => (float[2] y) { y = Relu (a) a = Relu (x) }");
  EXPECT_TRUE(at::equal((*module)(at::tensor({-1.0, 2.0})).tensor(), at::tensor({0.0, 2.0})));
}

/// The log messages while a model is read, "level: text".
std::vector<std::string> messages_of(onnx::ModelProto model) {
  std::vector<std::string> messages;
  set_log_level(LogLevel::Info);
  set_log_sink([&](LogLevel level, std::string_view text) {
    messages.push_back((level == LogLevel::Warning ? "warning: " : "info: ") + std::string(text));
  });
  import_onnx(std::move(model), {.name = "m.onnx"});
  set_log_sink({});
  set_log_level(LogLevel::Warning);
  return messages;
}

TEST(OnnxImport, FourBitsOfInputsAndOutputsBecomeEightWithAWarning) {
  constexpr int kInt4 = 22;
  onnx::ModelProto model =
      test::model_from_text("(int8[2] x) => (int8[2] y) { y = Identity (x) }", 21);
  EXPECT_THAT(messages_of(model), testing::IsEmpty());
  onnx::GraphProto& graph = *model.mutable_graph();
  for (auto* value : {graph.mutable_input(0), graph.mutable_output(0)}) {
    value->mutable_type()->mutable_tensor_type()->set_elem_type(kInt4);
  }
  EXPECT_THAT(messages_of(model),
              testing::ElementsAre("warning: m.onnx: 4-bit inputs and outputs became 8-bit "
                                   "integers: 2"));
}

TEST(OnnxImport, InputsWithDefaultsBecomeConstantsWithANote) {
  onnx::ModelProto model = test::model_from_text(
      "(float[2] x, float[2] w, float[2] b) => (float[2] y) { a = Mul (x, w) y = Add (a, b) }");
  add_weight(model, "w", at::ones({2}));
  add_weight(model, "b", at::ones({2}));
  EXPECT_THAT(
      messages_of(model),
      testing::ElementsAre("warning: m.onnx: inputs with default values became constants: 2"));
  model.set_ir_version(3);  // before version 4, weights had to be inputs
  EXPECT_THAT(messages_of(model), testing::IsEmpty());
}

TEST(OnnxImport, InputsThatNoTensorCanHoldAreReported) {
  onnx::ModelProto model =
      test::model_from_text("(int8[2] x, float[2] y) => (float[2] z) { z = Identity (y) }");
  onnx::TypeProto& type = *model.mutable_graph()->mutable_input(0)->mutable_type();
  type.mutable_tensor_type()->set_elem_type(onnx::TensorProto::STRING);
  const std::string told =
      "warning: m.onnx: inputs of unsupported types, which can be neither run nor exported: ";
  EXPECT_THAT(messages_of(model), testing::ElementsAre(told + "1 ('x' is of type string)"));
  const auto module = import_onnx(onnx::ModelProto(model), {.name = "m.onnx"});
  EXPECT_EQ(fx::foreign_type(*module->graph().placeholders()[0]), "string");
  EXPECT_EQ(fx::foreign_type(*module->graph().placeholders()[1]), "");
  type.mutable_sequence_type();
  EXPECT_THAT(messages_of(model), testing::ElementsAre(told + "1 ('x' is not a tensor)"));
  onnx::ValueInfoProto& second = *model.mutable_graph()->add_input();
  second = model.graph().input(0);
  second.set_name("other");
  model.mutable_graph()->mutable_input(0)->set_name("two\nlines");
  EXPECT_THAT(messages_of(model), testing::ElementsAre(told + "2 ('two?lines' is not a tensor)"));
}

TEST(OnnxImport, SeedsAreNotFollowedWithANote) {
  EXPECT_THAT(messages_of(test::model_from_text(
                  "(float[2] x) => (float[2] y) { a = RandomNormalLike <seed = 1.0> (x)"
                  " b = RandomUniformLike <seed = 2.0> (x) c = RandomUniformLike (x)"
                  " d = Add (a, b) y = Add (d, c) }")),
              testing::ElementsAre("warning: m.onnx: nodes whose random seed is ignored, because "
                                   "the generator differs: 2"));
}

TEST(OnnxImport, EmptyListsReachOperatorsAsLists) {
  onnx::ModelProto model = test::model_from_text(
      "(float[1, 1, 2, 2] x, float[1, 4] r) => (float[N] y) { y = Upsampled (x, r) }");
  onnx::NodeProto& node = *model.mutable_graph()->mutable_node(0);
  node.set_op_type("MaxUnpool");
  for (const auto& [name, type] : {std::pair{"kernel_shape", onnx::AttributeProto::INTS},
                                   {"pads", onnx::AttributeProto::UNDEFINED}}) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(type);
  }
  EXPECT_THAT(text_of(*import_onnx(std::move(model))), HasSubstr("kernel_shape: [], pads: []"));
}

TEST(OnnxImport, OneResultOfSeveral) {
  const auto module = import("(float[5] x) => (float[N] y) { y = Unique (x) }");
  EXPECT_TRUE(at::equal((*module)(at::tensor({2.0F, 1.0F, 2.0F, 3.0F, 1.0F})).tensor(),
                        at::tensor({1.0F, 2.0F, 3.0F})));
}

struct BadModel {
  const char* name;
  const char* graph;
  const char* message;
};

class OnnxBadModels : public testing::TestWithParam<BadModel> {};

TEST_P(OnnxBadModels, AreErrorsThatNameFileAndNode) {
  EXPECT_THAT([] { import(GetParam().graph); }, ThrowsMessage<Error>(GetParam().message));
}

const BadModel kBadModels[] = {
    {"Cycle", "(float[2] x) => (float[2] y) { a = Add (x, b) b = Relu (a) y = Relu (b) }",
     "m.onnx: node 'a' (Add) depends on its own result: the graph has a cycle"},
    {"MissingInitializer", "(float[1, 3, 8, 8] x) => (float[N] y) { y = Conv (x, w) }",
     "m.onnx: node 'y' (Conv) reads 'w', which is not defined"},
    {"OutputNobodyComputes", "(float[2] x) => (float[2] y) { a = Relu (x) }",
     "m.onnx: the output 'y' is not defined"},
    {"ComputedTwice", "(float[2] x) => (float[2] y) { y = Relu (x) y = Relu (x) }",
     "m.onnx: node 'y' (Relu): 'y' is defined twice"},
    {"WrongRank", "(float[3, 8] x, float[4, 3, 3, 3] w) => (float[N] y) { y = Conv (x, w) }",
     "m.onnx: node 'y' (Conv): its input has 2 axes, its weight 4"},
    {"WrongAttributeType",
     "(float[1, 3, 8, 8] x, float[4, 3, 3, 3] w) => (float[N] y) { y = Conv <group = 1.5> (x, w) }",
     "m.onnx: node 'y' (Conv): attribute 'group' is of type FLOAT, expected INT"},
    {"LayerNormAxis",
     "(float[2, 3] x, float[3] w) => (float[N] y)"
     " { y = LayerNormalization <axis = -9000000000000000000> (x, w) }",
     "m.onnx: node 'y' (LayerNormalization): axis -9000000000000000000 does not exist in a tensor "
     "with 2 axes"},
    {"NegativeExpand",
     "(float[3] x) => (float[N] y) { s = Constant <value = int64[2] {-1, 3}> () y = Expand (x, s) "
     "}",
     "m.onnx: node 'y' (Expand): shape contains -1"},
    {"ZeroStride",
     "(float[1, 3, 8, 8] x, float[4, 3, 3, 3] w) => (float[N] y) { y = Conv <strides = [0, 1]> (x, "
     "w) }",
     "m.onnx: node 'y' (Conv): strides contains 0"},
};
INSTANTIATE_TEST_SUITE_P(Models, OnnxBadModels, testing::ValuesIn(kBadModels),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sparsebit::frontends::import_test
