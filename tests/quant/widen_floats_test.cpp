#include "sparsebit/quant/widen_floats.h"

#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/parser.h"
#include "sparsebit/fx/printer.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::quant::widen_floats_test {
namespace {

using testing::HasSubstr;
using testing::Not;

class WidenFloats : public testing::TestWithParam<at::ScalarType> {};

TEST_P(WidenFloats, InsideItIsFloat32AndOutsideAsBefore) {
  fx::GraphModule module(fx::parse_graph(R"(
      %x = input()
      %n = input()
      %a = self.fc(%x)
      %b = %a.to(torch.float32)
      %c = torch.softmax(%b, -1)
      %d = %c.to(torch.)" + fx::dtype_name(GetParam()) +
                                         R"()
      %e = torch.mul(%d, %n)
      return (%e, %c))"),
                         "Case");
  module.set_module("fc", nn::Linear(4, 3));
  module.to(GetParam());
  module.eval();
  const at::Tensor x = at::randn({2, 4}, at::detail::createCPUGenerator(1)).to(GetParam());
  const at::Tensor n = at::arange(2).reshape({2, 1});
  fx::record_shapes(module, {x, n});
  EXPECT_TRUE(widen_floats(module));
  fx::record_shapes(module, {x, n});
  for (const fx::Node& node : module.graph().nodes()) {
    const bool outside = node.op() == fx::Opcode::Placeholder || node.op() == fx::Opcode::Output ||
                         node.users().front()->op() == fx::Opcode::Output;
    if (outside || !node.tensor_info() || !at::isFloatingType(node.tensor_info()->dtype)) continue;
    EXPECT_EQ(node.tensor_info()->dtype, at::kFloat) << node.name();
  }
  const fx::Value result = fx::Interpreter(module, fx::RunMode::Inference).run({x, n});
  EXPECT_EQ(result.items()[0].tensor().scalar_type(), GetParam());
  EXPECT_EQ(result.items()[1].tensor().scalar_type(), at::kFloat);
  const at::Tensor weight = *module.find_tensor("fc.weight"), bias = *module.find_tensor("fc.bias");
  const at::Tensor expected = at::softmax(at::linear(x.to(at::kFloat), weight, bias), -1);
  EXPECT_TRUE(at::allclose(result.items()[1].tensor(), expected));
}

INSTANTIATE_TEST_SUITE_P(Types, WidenFloats, testing::Values(at::kHalf, at::kBFloat16),
                         [](const auto& info) { return fx::dtype_name(info.param); });

TEST(WidenFloats32, WithTheInterface) {
  fx::GraphModule module(fx::parse_graph("%x = input()\n%y = self.fc(%x)\nreturn %y"), "Case");
  module.set_module("fc", nn::Linear(4, 3));
  module.to(at::kBFloat16);
  module.graph().find("x")->set_tensor_info(fx::TensorInfo{{2, 4}, at::kBFloat16});
  EXPECT_TRUE(widen_floats(module, Interface::Float32));
  EXPECT_EQ(module.graph().find("x")->tensor_info()->dtype, at::kFloat);
  fx::Interpreter interpreter(module, fx::RunMode::Inference);
  EXPECT_EQ(interpreter.run({at::ones({2, 4})}).tensor().scalar_type(), at::kFloat);
}

TEST(WidenFloats32, AreLeftAlone) {
  fx::GraphModule module(fx::parse_graph("%x = input()\n%y = torch.relu(%x)\nreturn %y"), "Case");
  fx::record_shapes(module, {at::ones({2})});
  const std::string before = fx::to_text(module.graph());
  EXPECT_FALSE(widen_floats(module));
  EXPECT_EQ(fx::to_text(module.graph()), before);
}

}  // namespace
}  // namespace sparsebit::quant::widen_floats_test
