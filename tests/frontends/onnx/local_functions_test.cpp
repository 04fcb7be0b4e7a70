#include "frontends/onnx/local_functions.h"

#include "frontends/onnx/model_builder.h"
#include "support/cpu_time.h"

#include "sparsebit/core/error.h"
#include "sparsebit/frontends/onnx.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <sys/resource.h>

namespace sparsebit::frontends::local_functions_test {
namespace {

using onnx::AttributeProto;
using onnx::FunctionProto;
using onnx::ModelProto;
using onnx::NodeProto;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Numbers of fields that are newer than the packaged ONNX library.
constexpr int kFunctionDefaults = 11, kFunctionOverload = 13, kNodeOverload = 8;

constexpr const char* kTooLarge =
    "m.onnx: the model's functions expand to more than 100000 calls or 256 MB";

template <class Message>
void add_unknown(Message& message, int number, const std::string& bytes) {
  message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(number, bytes);
}

NodeProto& add_node(FunctionProto& function, const std::string& type, const std::string& from,
                    const std::string& to) {
  NodeProto& node = *function.add_node();
  node.set_op_type(type);
  node.add_input(from);
  node.add_output(to);
  return node;
}

FunctionProto& add_function(ModelProto& model, const std::string& name) {
  FunctionProto& function = *model.add_functions();
  function.set_domain("custom.ops");
  function.set_name(name);
  function.add_input("in");
  function.add_output("out");
  return function;
}

/// A function that is a LeakyRelu with the slope of its attribute `slope`.
FunctionProto& add_leaky(ModelProto& model) {
  FunctionProto& function = add_function(model, "Leaky");
  AttributeProto& slope = *add_node(function, "LeakyRelu", "in", "out").add_attribute();
  slope.set_name("alpha");
  slope.set_type(AttributeProto::FLOAT);
  slope.set_ref_attr_name("slope");
  return function;
}

float result_of(ModelProto model, float x) {
  return test::run(*import_onnx(std::move(model)), {at::tensor({x})})[0].item<float>();
}

std::string error_of(ModelProto model) {
  try {
    import_onnx(std::move(model), {.name = "m.onnx"});
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(OnnxFunctions, BodiesReplaceCalls) {
  ModelProto model =
      test::model_from_text("(float[2] x) => (float[2] y) { y = custom.ops.Twice (x) }");
  FunctionProto& function = add_function(model, "Twice");
  add_node(function, "Relu", "in", "mid");
  add_node(function, "Relu", "mid", "out");
  EXPECT_EQ(import_onnx(std::move(model))->graph().size(), 4U);
}

TEST(OnnxFunctions, WithoutMeasureAreRefused) {
  ModelProto model =
      test::model_from_text("(float[2] x) => (float[2] y) { y = custom.ops.F0 (x) }");
  for (int i = 0; i < 40; ++i) {
    FunctionProto& function = *model.add_functions();
    function.set_domain("custom.ops");
    function.set_name("F" + std::to_string(i));
    for (int call = 0; call < 2 && i < 39; ++call) {
      NodeProto& node = *function.add_node();
      node.set_domain("custom.ops");
      node.set_op_type("F" + std::to_string(i + 1));
    }
  }
  EXPECT_EQ(error_of(model), kTooLarge);
}

int64_t peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

/// One node of a body that takes a large attribute of the call many times.
TEST(OnnxFunctions, AttributesAreCountedBeforeTheyAreCopied) {
  ModelProto model = test::model_from_text("(float[1] x) => (float[1] y) { y = custom.ops.F (x) }");
  AttributeProto& large = *model.mutable_graph()->mutable_node(0)->add_attribute();
  large.set_name("large");
  large.set_type(AttributeProto::STRING);
  large.set_s(std::string(1 << 20, 'a'));
  NodeProto& node = add_node(add_function(model, "F"), "Magic", "in", "out");
  node.set_domain("custom.ops");
  for (int i = 0; i < 4000; ++i) {
    AttributeProto& attribute = *node.add_attribute();
    attribute.set_name("a" + std::to_string(i));
    attribute.set_ref_attr_name("large");
  }
  const int64_t before = peak_megabytes();
  EXPECT_EQ(error_of(std::move(model)), kTooLarge);
  EXPECT_LT(peak_megabytes() - before, 2000);
}

/// Each name in the body gets the function's name as a prefix.
TEST(OnnxFunctions, NamesAreCountedBeforeTheyAreCopied) {
  const std::string name(1 << 20, 'F');
  ModelProto model = test::model_from_text("(float[1] x) => (float[1] y) { y = custom.ops.F (x) }");
  model.mutable_graph()->mutable_node(0)->set_op_type(name);
  NodeProto& node = add_node(add_function(model, name), "Sum", "in", "out");
  for (int i = 0; i < 4000; ++i) node.add_input("a");
  const int64_t before = peak_megabytes();
  EXPECT_EQ(error_of(std::move(model)), kTooLarge);
  EXPECT_LT(peak_megabytes() - before, 2000);
}

/// Only copied nodes count.
TEST(OnnxFunctions, LargeNodesOfTheModelItselfAreNoExpansion) {
  ModelProto model =
      test::model_from_text("(float[1] x) => (float[1] y) { z = custom.ops.F (x) y = Relu (z) }");
  add_node(add_function(model, "F"), "Abs", "in", "out");
  NodeProto& constant = *model.mutable_graph()->add_node();
  constant.set_op_type("Constant");
  constant.add_output("c");
  AttributeProto& value = *constant.add_attribute();
  value.set_name("value_string");
  value.set_type(AttributeProto::STRING);
  value.set_s(std::string(300 << 20, 'a'));
  inline_local_functions(model);
  EXPECT_EQ(model.graph().node(0).op_type(), "Abs");
}

/// 20,000 operator sets, every second of which is new to the model, and 20,000 nodes.
TEST(OnnxFunctions, ManyOperatorSetsAreCheckedAtOnce) {
  ModelProto model = test::model_from_text(
      "(float[1] x) => (float[1] y) { z = custom.ops.F (x) y = custom.ops.F (z) }");
  FunctionProto& function = add_function(model, "F");
  add_node(function, "LeakyRelu", "in", "out");
  for (int i = 0; i < 20'000; ++i) {
    add_node(function, "LeakyRelu", "in", "r" + std::to_string(i));
    onnx::OperatorSetIdProto& entry = *function.add_opset_import();
    entry.set_version(9);
    if (i % 2) entry.set_domain("d" + std::to_string(i));
  }
  const double seconds = sparsebit::test::cpu_seconds_of([&] { inline_local_functions(model); });
  EXPECT_LT(seconds, 20);  // a tenth of a second normally; sanitizers take longer
  EXPECT_EQ(model.graph().node_size(), 2 * 20'001);
  EXPECT_EQ(model.opset_import_size(), 2 + 10'000);
}

TEST(OnnxFunctions, AttributesHaveDefaults) {
  for (const char* call : {"custom.ops.Leaky (x)", "custom.ops.Leaky <slope = 0.25> (x)"}) {
    ModelProto model =
        test::model_from_text(std::string("(float[1] x) => (float[1] y) { y = ") + call + " }");
    AttributeProto otherwise;
    otherwise.set_name("slope");
    otherwise.set_type(AttributeProto::FLOAT);
    otherwise.set_f(0.5F);
    add_unknown(add_leaky(model), kFunctionDefaults, otherwise.SerializeAsString());
    const bool given = std::string(call).find("slope") != std::string::npos;
    EXPECT_EQ(result_of(model, -4.0F), given ? -1.0F : -2.0F);
  }
  ModelProto model =
      test::model_from_text("(float[1] x) => (float[1] y) { y = custom.ops.Leaky (x) }");
  add_unknown(add_leaky(model), kFunctionDefaults, "\xFF");
  EXPECT_EQ(error_of(model),
            "m.onnx: an attribute default of the function 'Leaky' cannot be parsed");
}

TEST(OnnxFunctions, OverloadsAreDifferentFunctions) {
  for (const char* overload : {"", "negative"}) {
    ModelProto model =
        test::model_from_text("(float[1] x) => (float[1] y) { y = custom.ops.F (x) }");
    add_node(add_function(model, "F"), "Abs", "in", "out");
    FunctionProto& other = add_function(model, "F");
    add_node(other, "Neg", "in", "out");
    add_unknown(other, kFunctionOverload, "negative");
    if (*overload) add_unknown(*model.mutable_graph()->mutable_node(0), kNodeOverload, overload);
    EXPECT_EQ(result_of(model, 3.0F), *overload ? -3.0F : 3.0F);
  }
}

TEST(OnnxFunctions, MustUseTheModelsOperators) {
  const auto model = [](const char* type, int64_t version, const char* domain = "") {
    ModelProto proto =
        test::model_from_text("(float[1, 2] x) => (float[1, 2] y) { y = custom.ops.F (x) }");
    FunctionProto& function = add_function(proto, "F");
    add_node(function, type, "in", "out").set_domain(domain);
    function.add_opset_import()->set_version(version);
    function.mutable_opset_import(0)->set_domain(domain);
    return proto;
  };
  EXPECT_EQ(error_of(model("Relu", 13)), "");
  EXPECT_EQ(error_of(model("LeakyRelu", 9)), "");  // did not change from 6 to 13
  EXPECT_EQ(error_of(model("Softmax", 11)),
            "m.onnx: the function 'F' is written for version 11 of ONNX's operators, the model for "
            "version 13, where Softmax may mean something else");
  EXPECT_THAT(error_of(model("Relu", 99)), HasSubstr("is written for version 99"));
  EXPECT_THAT(error_of(model("Magic", 2, "custom.ops")),
              HasSubstr("is written for version 2 of 'custom.ops', the model for version 3"));
  // An operator set that only the function names.
  EXPECT_THAT(test::text_of(*import_onnx(model("Magic", 7, "other"))), HasSubstr("_opset: 7"));
}

TEST(OnnxFunctions, ResultsThatAreInputs) {
  ModelProto model =
      test::model_from_text("(float[1] x) => (float[1] y) { y = custom.ops.Same (x) }");
  FunctionProto& function = *model.add_functions();
  function.set_domain("custom.ops");
  function.set_name("Same");
  function.add_input("in");
  function.add_output("in");
  EXPECT_EQ(result_of(model, 3.0F), 3.0F);
}

/// Calls in the branches of an If, and an If in the body of a function.
TEST(OnnxFunctions, SubgraphsAreExpanded) {
  ModelProto model = test::model_from_text(
      "(bool c, float[2] x) => (float[2] y) {"
      " y = If <then_branch = t () => (float[2] r) { r = custom.ops.Leaky <slope = 0.25> (x) },"
      "         else_branch = e () => (float[2] q) { q = Abs (x) }> (c) }");
  add_leaky(model);
  std::string text = test::text_of(*import_onnx(ModelProto(model)));
  EXPECT_THAT(text, HasSubstr("op_type: \"LeakyRelu\" attribute { name: \"alpha\" f: 0.25"));
  EXPECT_THAT(text, testing::Not(HasSubstr("Leaky\"")));

  NodeProto choice = model.graph().node(0);  // as body of a function, with its own value in it
  FunctionProto& function = add_function(model, "Choose");
  *function.mutable_input(0) = "c";
  function.add_input("in");
  add_node(function, "Neg", "in", "x");
  *function.add_node() = choice;
  *function.mutable_output(0) = "y";
  NodeProto& call = *model.mutable_graph()->mutable_node(0);
  call.clear_attribute();
  call.set_domain("custom.ops");
  call.set_op_type("Choose");
  call.add_input("x");
  const auto module = import_onnx(std::move(model));
  EXPECT_EQ(test::calls(*module), (std::vector<std::string>{"torch.neg", "onnx.If"}));
  text = test::text_of(*module);
  EXPECT_THAT(text, HasSubstr("_captures: ['Choose_0/x']"));
  EXPECT_THAT(text, HasSubstr("op_type: \"Abs\""));
}

}  // namespace
}  // namespace sparsebit::frontends::local_functions_test
