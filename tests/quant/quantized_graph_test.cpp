#include "sparsebit/quant/quantized_graph.h"

#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/parser.h"
#include "sparsebit/fx/printer.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::quant::quantized_graph_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::unique_ptr<fx::GraphModule> model_of(const std::string& text) {
  auto module = std::make_unique<fx::GraphModule>(fx::parse_graph(text), "Case");
  module->add_buffer("s", at::tensor(0.5f));
  module->add_buffer("z", at::full({}, 128, at::kByte));
  module->add_buffer("low", at::zeros({}, at::kByte));
  module->add_buffer("w", at::arange(-4, 4, at::kChar).reshape({2, 4}));
  module->add_buffer("zw", at::zeros({}, at::kChar));
  return module;
}

constexpr const char* kPairs = R"(
    %x = input()
    %s = self.s
    %z = self.z
    %w = self.w
    %zw = self.zw
    %q = onnx.QuantizeLinear(%x, %s, %z)
    %moved = torch.reshape(%q, (3, 4))
    %d = onnx.DequantizeLinear(%moved, %s, %z)
    %weight = onnx.DequantizeLinear(%w, %s, %zw)
    %y = torch.nn.functional.linear(%d, %weight)
    return %y)";

TEST(QuantizedGraph, PairsAndIntegerOperatorsAreFound) {
  EXPECT_EQ(quantized_parts(*model_of(kPairs)).activations, 1);
  EXPECT_EQ(quantized_parts(*model_of(kPairs)).weights, 1);
  EXPECT_TRUE(quantized_parts(*model_of("%x = input()\n%y = torch.relu(%x)\nreturn %y")).empty());
  const QuantizedParts parts = quantized_parts(
      *model_of("%x = input()\n%a = com.microsoft.QLinearAdd(%x)\n%b = onnx.QLinearConv(%a)\n"
                "%c = onnx.QLinearConv(%b)\n%d = onnx.MatMulInteger(%c)\nreturn %d"));
  EXPECT_THAT(parts.operators, ElementsAre("QLinearAdd", "QLinearConv", "MatMulInteger"));
}

TEST(QuantizedGraph, ActivationsAreNotRoundedAndWeightsKeepTheirIntegers) {
  const auto module = model_of(kPairs);
  const at::Tensor x = at::randn({2, 6}, at::detail::createCPUGenerator(1));
  fx::record_shapes(*module, {x});
  remove_quantization(*module);
  EXPECT_THAT(fx::to_text(module->graph()), Not(HasSubstr("QuantizeLinear(")));
  const at::Tensor weight = 0.5 * at::arange(-4, 4, at::kFloat).reshape({2, 4});
  const at::Tensor expected = at::linear(x.reshape({3, 4}), weight);
  fx::Interpreter interpreter(*module, fx::RunMode::Inference);
  EXPECT_TRUE(at::equal(interpreter.run({x}).tensor(), expected));
}

/// If the zero point is the smallest integer, the QuantizeLinear may have replaced a relu.
TEST(QuantizedGraph, ReluIsNotLost) {
  const auto module = model_of(R"(
    %x = input()
    %s = self.s
    %z = self.low
    %y = torch.neg(%x)
    %q = onnx.QuantizeLinear(%y, %s, %z)
    %d = onnx.DequantizeLinear(%q, %s, %z)
    return %d)");
  const at::Tensor x = at::tensor({-200.f, -3.25f, 2.f});
  fx::record_shapes(*module, {x});
  remove_quantization(*module);
  fx::Interpreter interpreter(*module, fx::RunMode::Inference);
  EXPECT_TRUE(at::equal(interpreter.run({x}).tensor(), at::tensor({127.5f, 3.25f, 0.f})));
}

/// Without a zero point, ONNX's default is uint8 with zero point 0.
TEST(QuantizedGraph, ReluWithoutAZeroPoint) {
  const auto module = model_of(R"(
    %x = input()
    %s = self.s
    %y = torch.neg(%x)
    %q = onnx.QuantizeLinear(%y, %s)
    %d = onnx.DequantizeLinear(%q, %s)
    return %d)");
  const at::Tensor x = at::tensor({-200.f, -3.25f, 2.f});
  remove_quantization(*module);
  fx::Interpreter interpreter(*module, fx::RunMode::Inference);
  EXPECT_TRUE(at::equal(interpreter.run({x}).tensor(), at::tensor({127.5f, 3.25f, 0.f})));
}

/// Items of tuples have no recorded type.
TEST(QuantizedGraph, SplitsBetweenAPair) {
  const auto module = model_of(R"(
    %x = input()
    %s = self.s
    %z = self.z
    %q = onnx.QuantizeLinear(%x, %s, %z)
    %parts = torch.split(%q, 2)
    %a = operator.getitem(%parts, 0)
    %d = onnx.DequantizeLinear(%a, %s, %z)
    return %d)");
  remove_quantization(*module);
  fx::Interpreter interpreter(*module, fx::RunMode::Inference);
  EXPECT_TRUE(at::equal(interpreter.run({at::tensor({0.2f, -0.7f, 3.f})}).tensor(),
                        at::tensor({0.2f, -0.7f})));
}

/// Padding with an integer or converting integers to numbers would differ for floats.
TEST(QuantizedGraph, WhatComputesWithTheIntegersIsNamed) {
  for (const char* reads : {"torch.nn.functional.pad(%q, [1, 1], 'constant', 128)",
                            "%q.to(torch.float32)", "torch.add(%q, 1)"}) {
    const auto module = model_of(std::string(R"(
    %x = input()
    %s = self.s
    %z = self.z
    %q = onnx.QuantizeLinear(%x, %s, %z)
    %p = )") + reads + "\n    return %p");
    EXPECT_THAT([&] { remove_quantization(*module); },
                testing::ThrowsMessage<std::exception>(HasSubstr("'p' reads the integers of 'q'")))
        << reads;
  }
  const auto output = model_of(
      "%x = input()\n%s = self.s\n%z = self.z\n%q = onnx.QuantizeLinear(%x, %s, %z)\nreturn %q");
  EXPECT_THAT([&] { remove_quantization(*output); },
              testing::ThrowsMessage<std::exception>(HasSubstr("reads the integers of 'q'")));
}

TEST(QuantizedGraph, IntegerOperatorsCannotBeRemoved) {
  const auto module = model_of("%x = input()\n%a = onnx.QLinearConv(%x)\nreturn %a");
  EXPECT_THAT([&] { remove_quantization(*module); },
              testing::ThrowsMessage<std::exception>(HasSubstr("such as QLinearConv")));
}

}  // namespace
}  // namespace sparsebit::quant::quantized_graph_test
