#include "frontends/onnx/model_builder.h"

#include "sparsebit/fx/call.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

namespace sparsebit::test::quantization_test {
namespace {

using at::Tensor;
using Calls = std::vector<std::string>;
using testing::HasSubstr;
using testing::ThrowsMessage;

Tensor bytes(const std::vector<int64_t>& values, at::ScalarType dtype = at::kChar) {
  return at::tensor(values, at::kLong).to(dtype);
}

TEST(OnnxQuantization, RoundsHalfToEvenAndSaturates) {
  const Tensor x = at::tensor({0.5F, 1.5F, 2.5F, -0.5F, -1.5F, 300.0F, -300.0F});
  const Tensor scale = at::scalar_tensor(1.0F);
  const Tensor without = fx::call_function("onnx.QuantizeLinear", {x, scale}).tensor();
  EXPECT_TRUE(without.equal(bytes({0, 2, 2, 0, 0, 255, 0}, at::kByte)));
  const Tensor zero = at::scalar_tensor(1, at::kChar);
  const Tensor with = fx::call_function("onnx.QuantizeLinear", {x, scale, zero}).tensor();
  EXPECT_TRUE(with.equal(bytes({1, 3, 3, 1, -1, 127, -128})));
}

TEST(OnnxQuantization, ScalesPerAxisAndPerBlock) {
  const Tensor x = bytes({1, 2, 3, 4, 5, 6}).reshape({2, 3});
  const Tensor rows = at::tensor({1.0F, 10.0F}), zeros = bytes({0, 1});
  const Tensor per_row =
      fx::call_function("onnx.DequantizeLinear", {x, rows, zeros}, {{"axis", 0}}).tensor();
  EXPECT_TRUE(per_row.equal(at::tensor({1.0F, 2.0F, 3.0F, 30.0F, 40.0F, 50.0F}).reshape({2, 3})));

  const Tensor blocks = at::tensor({1.0F, 2.0F, 3.0F, 4.0F}).reshape({2, 2});
  const Tensor per_block =
      fx::call_function("onnx.DequantizeLinear", {x, blocks}, {{"axis", 1}, {"block_size", 2}})
          .tensor();
  EXPECT_TRUE(per_block.equal(at::tensor({1.0F, 2.0F, 6.0F, 12.0F, 15.0F, 24.0F}).reshape({2, 3})));
}

TEST(OnnxQuantization, DifferencesOfWideIntegersAreExact) {
  const Tensor x = at::tensor({16777217, 16777219}, at::kInt);
  const Tensor y =
      fx::call_function("onnx.DequantizeLinear",
                        {x, at::scalar_tensor(1.0F), at::scalar_tensor(16777216, at::kInt)})
          .tensor();
  EXPECT_TRUE(y.equal(at::tensor({1.0F, 3.0F})));
}

/// Weights must stay integers in the graph: DequantizeLinear of constants is not folded.
TEST(OnnxQuantization, NothingIsComputedAtImport) {
  const auto module =
      ModelBuilder(13)
          .input("x", {1, 2, 4, 4})
          .constant("w", bytes({1, -2, 3, -4}).reshape({2, 2, 1, 1}))
          .constant("scale", at::tensor({0.5F, 0.25F}))
          .constant("zero", bytes({0, 0}))
          .node("DequantizeLinear", {"w", "scale", "zero"}, {"weight"}, {{"axis", int64_t{0}}})
          .node("Conv", {"x", "weight"}, {"y"})
          .output("y")
          .import();
  EXPECT_EQ(calls(*module), (Calls{"onnx.DequantizeLinear", "torch.nn.functional.conv2d"}));
  const Tensor x = at::rand({1, 2, 4, 4});
  const Tensor weight = at::tensor({0.5F, -1.0F, 0.75F, -1.0F}).reshape({2, 2, 1, 1});
  EXPECT_TRUE(at::allclose(run(*module, {x})[0], at::conv2d(x, weight)));
}

TEST(OnnxQuantization, ConvolutionsOfIntegersPadWithTheZeroPoint) {
  const Tensor x = bytes({3, 5, 7, 9}, at::kByte).reshape({1, 1, 2, 2});
  const Tensor w = bytes({1, 2, 3, 4}).reshape({1, 1, 2, 2});
  const auto module = [&](const std::string& mode) {
    return ModelBuilder(10)
        .input("x", {1, 1, 2, 2}, at::kByte)
        .constant("w", w)
        .constant("zero", at::scalar_tensor(3, at::kByte))
        .node("ConvInteger", {"x", "w", "zero"}, {"y"}, {{"auto_pad", mode}})
        .output("y")
        .import();
  };
  const Tensor centred = x.to(at::kDouble) - 3, weight = w.to(at::kDouble);
  const Tensor upper = at::conv2d(at::constant_pad_nd(centred, {0, 1, 0, 1}), weight).to(at::kInt);
  const Tensor lower = at::conv2d(at::constant_pad_nd(centred, {1, 0, 1, 0}), weight).to(at::kInt);
  EXPECT_TRUE(run(*module("SAME_UPPER"), {x})[0].equal(upper));
  EXPECT_TRUE(run(*module("SAME_LOWER"), {x})[0].equal(lower));
}

TEST(OnnxQuantization, ArgumentsMustFit) {
  const Tensor x = at::rand({2, 3}), scales = at::ones({2});
  EXPECT_THAT(([&] {
                fx::call_function("onnx.QuantizeLinear", {x, scales});
              }),
              ThrowsMessage<std::exception>(
                  HasSubstr("y_scale has 2 elements, but axis 1 of the input has 3")));
  EXPECT_THAT(([&] {
                fx::call_function("onnx.QuantizeLinear", {x, at::ones({2, 1})},
                                  {{"axis", 1}, {"block_size", 2}});
              }),
              ThrowsMessage<std::exception>(
                  HasSubstr("y_scale has 1 blocks of 2 along an axis of size 3")));
  EXPECT_THAT(([&] {
                fx::call_function("onnx.QuantizeLinear", {x, at::ones({})}, {{"output_dtype", 1}});
              }),
              ThrowsMessage<std::exception>(
                  HasSubstr("cannot quantize to float32, only to 8 and 16 bits")));
}

constexpr int kUint4 = 21, kInt4 = 22;

/// A tensor of 4-bit integers as newer files have them, two in a byte.
onnx::TensorProto packed(const std::string& name, int type, const std::vector<int64_t>& shape,
                         const std::string& data) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const int64_t size : shape) tensor.add_dims(size);
  tensor.set_raw_data(data);
  return tensor;
}

ModelBuilder with_packed(const onnx::TensorProto& tensor) {
  ModelBuilder builder(21);
  *builder.model().mutable_graph()->add_initializer() = tensor;
  builder.input("x", {2}).constant("scale", at::scalar_tensor(0.5F));
  return builder;
}

const fx::Node* find_call(const fx::GraphModule& module, const std::string& target) {
  for (const fx::Node& node : module.graph().nodes()) {
    if (node.target() == target) return &node;
  }
  return nullptr;
}

std::string reason_of(const fx::GraphModule& module, const std::string& target) {
  const fx::Node* node = find_call(module, target);
  return node && node->kwarg("_reason") ? node->kwarg("_reason")->string() : "none";
}

TEST(OnnxFourBits, WeightsAreMovedAndWidened) {
  const auto module = with_packed(packed("w", kInt4, {2, 2}, "\x8F\x71"))
                          .node("Transpose", {"w"}, {"t"})
                          .node("DequantizeLinear", {"t", "scale"}, {"v"})
                          .node("MatMul", {"v", "x"}, {"y"})
                          .output("y")
                          .import();
  // [[-1, -8], [1, 7]] transposed
  EXPECT_TRUE(run(*module, {at::tensor({2.0F, 4.0F})})[0].equal(at::tensor({1.0F, 6.0F})));
}

TEST(OnnxFourBits, NodesThatComputeWithThemAreCarried) {
  const auto module = with_packed(packed("zero", kUint4, {}, std::string("\x03", 1)))
                          .node("QuantizeLinear", {"x", "scale", "zero"}, {"q"})
                          .node("DequantizeLinear", {"q", "scale", "zero"}, {"y"})
                          .output("y")
                          .import();
  EXPECT_EQ(reason_of(*module, "onnx.QuantizeLinear"), "element type uint4 is not supported");
  // The constant is stored as bytes; a Cast gives the node the type it needs.
  const fx::Node* quantize = find_call(*module, "onnx.QuantizeLinear");
  const fx::Node& zero = quantize->args().at(2).node();
  ASSERT_EQ(zero.target(), "onnx.Cast");
  EXPECT_EQ(zero.kwarg("to")->to_int(), kUint4);
  EXPECT_EQ(zero.kwarg("_opset")->to_int(), 21);
  // Its results are 4-bit integers, so nodes that read them are carried as well.
  EXPECT_EQ(reason_of(*module, "onnx.DequantizeLinear"), "element type uint4 is not supported");
}

/// The 4-bit type of a carried node's results is found from each possible source; their reader is
/// carried as well.
TEST(OnnxFourBits, ResultsOfCarriedNodesAreKnown) {
  const auto reader = [](const std::string& type, const std::vector<std::string>& inputs,
                         const std::vector<Attribute>& attributes, bool declared = false) {
    ModelBuilder builder = with_packed(packed("four", kInt4, {2}, "\x21"));
    builder.node(type, inputs, {"q"}, attributes).node("Cast", {"q"}, {"y"}, {{"to", int64_t{1}}});
    if (type == "Magic") builder.model().mutable_graph()->mutable_node(0)->set_domain("custom");
    onnx::ValueInfoProto value;
    value.set_name("q");
    value.mutable_type()->mutable_tensor_type()->set_elem_type(kInt4);
    if (declared) *builder.model().mutable_graph()->add_value_info() = value;
    const Calls all = calls(*builder.output("y").import());
    return all.empty() ? "none" : all.back();
  };
  EXPECT_EQ(reader("Cast", {"x"}, {{"to", int64_t{kInt4}}}), "onnx.Cast");
  EXPECT_EQ(reader("CastLike", {"x", "four"}, {}), "onnx.Cast");
  EXPECT_EQ(reader("QuantizeLinear", {"x", "scale"}, {{"output_dtype", int64_t{kInt4}}}),
            "onnx.Cast");
  EXPECT_EQ(reader("Pad", {"four", "scale"}, {}), "onnx.Cast");
  EXPECT_EQ(reader("Magic", {"x"}, {}, true), "onnx.Cast");
  EXPECT_EQ(reader("Magic", {"x"}, {}), "Tensor.to");
  EXPECT_EQ(reader("Identity", {"four"}, {}, true), "none");  // bytes, computed at once
}

TEST(OnnxFourBits, NothingBecomesFourBitsSilently) {
  const auto asks = [](const std::string& type, const char* attribute) {
    return ModelBuilder(21)
        .input("x", {2})
        .constant("scale", at::scalar_tensor(0.5F))
        .node(
            type,
            type == "Cast" ? std::vector<std::string>{"x"} : std::vector<std::string>{"x", "scale"},
            {"y"}, {{attribute, int64_t{kInt4}}})
        .output("y")
        .import();
  };
  EXPECT_EQ(reason_of(*asks("Cast", "to"), "onnx.Cast"), "element type int4 is not supported");
  EXPECT_EQ(reason_of(*asks("QuantizeLinear", "output_dtype"), "onnx.QuantizeLinear"),
            "element type int4 is not supported");
}

TEST(OnnxFourBits, ConstantsOfNodesAreTheSame) {
  ModelBuilder builder(21);
  builder.input("x", {2}).node("Constant", {}, {"c"});
  onnx::AttributeProto& value = *builder.model().mutable_graph()->mutable_node(0)->add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  *value.mutable_t() = packed("", kInt4, {2}, "\x8F");
  const auto module = builder.node("Cast", {"c"}, {"wide"}, {{"to", int64_t{1}}})
                          .node("Add", {"wide", "x"}, {"y"})
                          .node("Add", {"c", "c"}, {"z"})
                          .output("y")
                          .output("z")
                          .import();
  EXPECT_EQ(reason_of(*module, "onnx.Add"), "element type int4 is not supported");
}

}  // namespace
}  // namespace sparsebit::test::quantization_test
