// ONNX operators without a torch counterpart, and unknown operators.

#include "core/temp_dir.h"
#include "export/export_case.h"

#include "sparsebit/core/error.h"
#include "sparsebit/frontends/onnx.h"
#include "sparsebit/io/onnx_attribute.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>

namespace sparsebit::exports::test::carried_test {
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

TEST(Carried, InputsThatNoTensorCanHoldAreRefused) {
  onnx::ModelProto model;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(ir_version: 8 opset_import { version: 13 }
         graph { name: "g" node { op_type: "Cast" input: "x" output: "y"
                                  attribute { name: "to" type: INT i: 1 } }
                 input { name: "x" type { tensor_type { elem_type: 4 shape {} } } }
                 output { name: "y" type { tensor_type { elem_type: 1 shape {} } } } })",
      &model));
  const auto module = frontends::import_onnx(std::move(model));
  EXPECT_THAT([&] { to_onnx(*module, {.inputs = {at::ones({})}}); },
              ThrowsMessage<Error>("input 'x' (uint16) cannot be exported: it is not a tensor"));
}

/// Outputs keep their names, also if an output is an input or the same value as another output.
TEST(Carried, ResultsKeepTheirNames) {
  onnx::ModelProto model;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(ir_version: 8 opset_import { version: 13 }
         graph { name: "g" node { op_type: "Relu" input: "x" output: "r" }
                 input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } }
                 output { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } }
                 output { name: "r" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } } })",
      &model));
  const sparsebit::test::TempDir dir;
  OrtQueue queue(dir.path());
  for (const bool twice : {false, true}) {
    if (twice) *model.mutable_graph()->mutable_output(0) = model.graph().output(1);
    const auto module = frontends::import_onnx(onnx::ModelProto(model));
    const onnx::ModelProto written = to_onnx(*module);
    EXPECT_EQ(outline(written), "r = Relu(x)\n");
    const at::Tensor x = at::randn({2});
    queue.add(twice ? "twice" : "input", written, {x}, run_reference(*module, {x}));
  }
  queue.run();
}

TEST(Carried, NamesOfAttributesAndTypesSurvive) {
  const auto module = parse_module(
      "%x = input()\n"
      "%y = onnx.my.Bar.v2(%x, __scale=3, alpha=2, _opset=1, _outputs=1, _type='Bar.v2')\n"
      "return %y\n");
  const onnx::ModelProto model = to_onnx(*module, {.inputs = {at::ones({2})}});
  const onnx::NodeProto& node = model.graph().node(0);
  EXPECT_EQ(node.domain(), "my");
  EXPECT_EQ(node.op_type(), "Bar.v2");
  ASSERT_EQ(node.attribute_size(), 2);
  EXPECT_EQ(node.attribute(0).name(), "_scale");

  const auto again = frontends::import_onnx(onnx::ModelProto(model));
  const onnx::ModelProto second = to_onnx(*again);
  EXPECT_EQ(second.graph().node(0).domain(), "my");
  EXPECT_EQ(second.graph().node(0).op_type(), "Bar.v2");
  ASSERT_EQ(second.graph().node(0).attribute_size(), 2);
  EXPECT_EQ(second.graph().node(0).attribute(0).name(), "_scale");
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

/// Unknown fields of newer files cannot be stored in protobuf's text form.
TEST(Carried, AttributesInBytesAreWrittenBack) {
  onnx::AttributeProto attribute;
  attribute.set_name("body");
  attribute.set_type(onnx::AttributeProto::GRAPH);
  onnx::NodeProto& inner = *attribute.mutable_g()->add_node();
  inner.GetReflection()->MutableUnknownFields(&inner)->AddLengthDelimited(9, "\n\001k\022\001v");
  const io::AttributeText text = io::attribute_to_text(attribute);
  ASSERT_EQ(text.form, "onnx_base64");
  const auto with = [](const std::string& form, const std::string& content) {
    auto module = parse_module("%x = input()\n%y = onnx.my.Twist(%x, _opset=2)\nreturn %y\n");
    fx::Node& node = *module->graph().find("y");
    fx::Kwargs kwargs = node.kwargs();
    kwargs.emplace_back("body", fx::Dict{{form, content}});
    node.set_kwargs(kwargs);
    return to_onnx(*module, {.inputs = {at::ones({2, 3})}});
  };
  EXPECT_EQ(with(text.form, text.text).graph().node(0).attribute(0).SerializeAsString(),
            attribute.SerializeAsString());
  EXPECT_THAT(
      [&] { with("onnx_base64", "A*AA"); },
      ThrowsMessage<Error>(HasSubstr("node 'y': the attribute 'body' is not in protobuf's")));
}

TEST(Carried, ListsOfTextAreWritten) {
  const auto module = parse_module(
      "%x = input()\n%w = input()\n%r = input()\n"
      "%y = onnx.RNN(%x, %w, %r, activations=['Softsign'], hidden_size=1)\n"
      "%h = operator.getitem(%y, 1)\nreturn %h\n");
  const at::Tensor one = at::ones({1, 1, 1}), two = one * 2;
  const onnx::ModelProto model = to_onnx(*module, {.opset = 14, .inputs = {one, two, one}});
  const onnx::NodeProto& node = model.graph().node(0);
  bool found = false;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() != "activations") continue;
    found = true;
    EXPECT_EQ(attribute.type(), onnx::AttributeProto::STRINGS);
    EXPECT_THAT(attribute.strings(), testing::ElementsAre("Softsign"));
  }
  EXPECT_TRUE(found);
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
      ThrowsMessage<Error>(
          HasSubstr("node 'y': Softmax was written for opset 11 and may have changed in opset 13; "
                    "export with opset 11 (--opset 11)")));
}

TEST(Carried, OpsetsAfterTheLinkedLibraryAreNotGuessed) {
  const auto module =
      parse_module("%x = input()\n%y = onnx.Gelu(%x, _opset=20, _outputs=1)\nreturn %y\n");
  EXPECT_EQ(outline(to_onnx(*module, {.opset = 20, .inputs = {at::ones({2, 3})}})),
            "y = Gelu(x)\n");
  for (const int64_t opset : {17, 19, 21}) {
    EXPECT_THAT(
        [&] {
          to_onnx(*module, {.opset = opset, .inputs = {at::ones({2, 3})}});
        },
        ThrowsMessage<Error>(HasSubstr("node 'y': Gelu was written for opset 20")));
  }
}

/// A node with a subgraph that reads `old`, the second argument.
std::unique_ptr<fx::GraphModule> module_with_body(const std::string& body, fx::Kwargs notes) {
  auto module = parse_module(
      "%x = input()\n"
      "%y = torch.mul(%x, 2)\n"
      "return %y\n");
  fx::Graph& graph = module->graph();
  fx::Node& y = *graph.find("y");
  const auto guard = graph.inserting_after(y);
  const std::string text = "name: 'body' type: GRAPH g { name: 'b' " + body +
                           " output { name: 'total' type { tensor_type { elem_type: 1 } } } }";
  notes.emplace_back("body", fx::Dict{{"onnx", text}});
  notes.emplace_back("_outputs", 1);
  notes.emplace_back("_captures", fx::List{"old"});
  fx::Node& call =
      graph.call_function("onnx.my.Repeat", {fx::Value(y), fx::Value(y)}, std::move(notes));
  graph.output_node()->set_args({fx::Value(call)});
  return module;
}

TEST(Carried, WhatIsInsideCounts) {
  const std::string body =
      "node { op_type: 'Softmax' input: 'old' output: 'a' }"
      "node { op_type: 'Odd' domain: 'other' input: 'a' output: 'total' }";
  const fx::Kwargs notes = {{"_opset", 1}, {"_domains", fx::Dict{{"", 13}, {"other", 4}}}};
  const auto module = module_with_body(body, notes);
  const onnx::ModelProto model = to_onnx(*module, {.inputs = {at::ones({2, 3})}});
  ASSERT_EQ(model.opset_import_size(), 3);
  EXPECT_EQ(model.opset_import(2).domain(), "other");
  EXPECT_EQ(model.opset_import(2).version(), 4);
  EXPECT_THAT(
      [&] {
        to_onnx(*module, {.opset = 11, .inputs = {at::ones({2, 3})}});
      },
      ThrowsMessage<Error>(HasSubstr("Softmax was written for opset 13")));
}

TEST(Carried, NamesThatMakeRoomAreRenamedInside) {
  const auto module =
      module_with_body("node { op_type: 'Add' input: 'old' input: 'old' output: 'total' }",
                       {{"_opset", 1}, {"_domains", fx::Dict{{"", 13}}}});
  // The output has the name of a value that the subgraph reads.
  const onnx::ModelProto model =
      to_onnx(*module, {.inputs = {at::ones({2, 3})}, .output_names = {"y"}});
  EXPECT_EQ(model.graph().output(0).name(), "y");
  const std::string read = model.graph().node(1).input(0);
  EXPECT_NE(read, "y");
  EXPECT_EQ(model.graph().node(0).output(0), read);
  EXPECT_EQ(model.graph().node(1).attribute(0).g().node(0).input(0), read);
}

constexpr int kUint4 = 21, kInt4 = 22;

/// x -> QuantizeLinear (4 bits, zero point 1) -> Transpose -> DequantizeLinear. Outputs are the
/// dequantized values and, with `gives_integers`, the integers.
onnx::ModelProto four_bit_model(int type, bool declared, bool gives_integers) {
  const std::string fields =
      "ir_version: 10 opset_import { version: 21 } graph { name: 'g' "
      "node { op_type: 'QuantizeLinear' input: 'x' input: 's' input: 'z' output: 'q' } "
      "node { op_type: 'Transpose' input: 'q' output: 't' } "
      "node { op_type: 'DequantizeLinear' input: 't' input: 's' input: 'z' output: 'y' } "
      "initializer { name: 's' data_type: 1 float_data: 0.5 } "
      "initializer { name: 'z' data_type: TYPE int32_data: 1 } "
      "input { name: 'x' type { tensor_type { elem_type: 1 SHAPE } } } "
      "output { name: 'y' type { tensor_type { elem_type: 1 SHAPE } } } ";
  const std::string integers = "{ name: 'q' type { tensor_type { elem_type: TYPE SHAPE } } } ";
  std::string text = fields + (declared ? "value_info " + integers : "") +
                     (gives_integers ? "output " + integers : "") + "}";
  const auto replace_all = [&text](const std::string& from, const std::string& to) {
    for (size_t at; (at = text.find(from)) != std::string::npos;) text.replace(at, from.size(), to);
  };
  replace_all("SHAPE", "shape { dim { dim_value: 2 } dim { dim_value: 2 } }");
  replace_all("TYPE", std::to_string(type));
  onnx::ModelProto model;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &model));
  return model;
}

TEST(Carried, FourBitIntegersOfCarriedNodesStayWhatTheyAre) {
  const sparsebit::test::TempDir dir;
  OrtQueue queue(dir.path());
  const at::Tensor x = at::tensor({0.3F, -20.0F, 1.2F, 20.0F}).reshape({2, 2});
  for (const int type : {kUint4, kInt4}) {
    const int low = type == kInt4 ? -8 : 0, high = type == kInt4 ? 7 : 15;
    const at::Tensor integers = (x / 0.5F).round().add(1).clamp(low, high);
    const at::Tensor y = (integers - 1).mul(0.5F).t().contiguous();
    for (const bool declared : {false, true}) {
      for (const bool gives_integers : {false, true}) {
        const auto module =
            frontends::import_onnx(four_bit_model(type, declared, gives_integers), {.name = "m"});
        Tensors expected = {y};
        if (gives_integers) expected.push_back(integers.to(type == kInt4 ? at::kChar : at::kByte));
        const onnx::ModelProto model = to_onnx(*module, {.opset = 21, .inputs = {x}});
        queue.add(c10::str("type ", type, declared ? " declared" : "", gives_integers ? " q" : ""),
                  model, {x}, expected);
      }
    }
  }
  EXPECT_EQ(queue.run(), 8U);
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

TEST(OnnxOperators, RunInOnnxRuntime) {
  const sparsebit::test::TempDir dir;
  OrtQueue queue(dir.path());
  const at::Tensor x = at::arange(25, at::kFloat).reshape({1, 1, 5, 5}).sin();
  for (const char* call :
       {"onnx.TopK(%x, 2)", "onnx.TopK(%x, tensor([3], dtype=torch.int64), axis=2, largest=0)",
        // 5 times 1.4 is 7 in float32 only.
        "onnx.Resize(%x, None, [1.0, 1.0, 1.399999976158142, 1.399999976158142])"}) {
    const auto module = parse_module(c10::str("%x = input()\n%y = ", call, "\nreturn %y\n"));
    for (const int64_t opset : {11, 13, 17, 21}) {
      queue.add(c10::str(call, " at opset ", opset),
                to_onnx(*module, {.opset = opset, .inputs = {x}}), {x},
                run_reference(*module, {x}));
    }
  }
  EXPECT_EQ(queue.run(), 12U);
}

TEST(OnnxOperators, ThatAnOpsetLacksAreRefused) {
  const auto module = parse_module("%x = input()\n%y = onnx.HammingWindow(%x)\nreturn %y\n");
  EXPECT_THAT([&] { to_onnx(*module, {.inputs = {at::scalar_tensor(4, at::kLong)}}); },
              ThrowsMessage<Error>(HasSubstr("HammingWindow needs opset 17 or newer")));
}

TEST(OnnxOperators, DefaultsAreThoseOfTheOpset) {
  const sparsebit::test::TempDir dir;
  OrtQueue queue(dir.path());
  const at::Tensor image = at::arange(64, at::kFloat).reshape({1, 1, 8, 8}).sin();
  const std::string regions =
      "tensor([[0.0, 0.0, 5.0, 6.0]], dtype=torch.float32), tensor([0], dtype=torch.int64)";
  const auto align = [&](const std::string& mode) {
    return parse_module("%x = input()\n%y = onnx.RoiAlign(%x, " + regions +
                        ", output_height=2, output_width=2" + mode + ")\nreturn %y\n");
  };
  const auto newer = align(""),
             older = align(", coordinate_transformation_mode='output_half_pixel'");
  for (const int64_t opset : {16, 17, 21}) {
    queue.add(c10::str("half pixel at ", opset),
              to_onnx(*newer, {.opset = opset, .inputs = {image}}), {image},
              run_reference(*newer, {image}));
  }
  for (const int64_t opset : {11, 13, 17}) {
    queue.add(c10::str("output half pixel at ", opset),
              to_onnx(*older, {.opset = opset, .inputs = {image}}), {image},
              run_reference(*older, {image}));
  }
  EXPECT_THAT(
      [&] { to_onnx(*newer, {.opset = 13, .inputs = {image}}); },
      ThrowsMessage<Error>(HasSubstr(
          "argument 'coordinate_transformation_mode' of RoiAlign needs opset 16 or newer")));

  const auto dft = parse_module("%x = input()\n%y = onnx.DFT(%x)\nreturn %y\n");
  const at::Tensor signal = at::arange(32, at::kFloat).reshape({1, 4, 8, 1}).cos();
  for (const int64_t opset : {17, 20, 21}) {
    queue.add(c10::str("DFT at ", opset), to_onnx(*dft, {.opset = opset, .inputs = {signal}}),
              {signal}, run_reference(*dft, {signal}));
  }
  EXPECT_EQ(queue.run(), 9U);
}

}  // namespace
}  // namespace sparsebit::exports::test::carried_test
