#include "quant/placement/kernel_times.h"

#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/parser.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace sparsebit::quant::kernel_times_test {
namespace {

struct Case {
  std::string name;
  std::string line;  ///< computes %y from %x and the weight %w
  std::vector<int64_t> input, weight;
  std::string kernel;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::unique_ptr<fx::GraphModule> module_of(const std::string& line,
                                           const std::vector<int64_t>& input,
                                           const std::vector<int64_t>& weight) {
  auto module = std::make_unique<fx::GraphModule>(
      fx::parse_graph("%x = input()\n%w = self.w\n%y = " + line + "\nreturn %y"), "Case");
  module->add_parameter("w", at::ones(weight));
  fx::record_shapes(*module, {at::ones(input)});
  return module;
}

fx::OperatorCall call_of(const fx::GraphModule& module) {
  return *fx::resolve(*module.graph().find("y"), module);
}

class KernelName : public testing::TestWithParam<Case> {};

TEST_P(KernelName, FollowsGroupsAndWeight) {
  const Case& c = GetParam();
  EXPECT_EQ(kernel_name(call_of(*module_of(c.line, c.input, c.weight)), c.weight), c.kernel);
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, KernelName,
    testing::Values(
        Case{"Conv", "torch.conv2d(%x, %w)", {1, 4, 6, 6}, {8, 4, 3, 3}, "conv"},
        Case{"Pointwise", "torch.conv2d(%x, %w)", {1, 4, 6, 6}, {8, 4, 1, 1}, "conv_pointwise"},
        Case{"OneLongSide", "torch.conv2d(%x, %w)", {1, 4, 6, 6}, {8, 4, 1, 3}, "conv"},
        Case{"Depthwise",
             "torch.conv2d(%x, %w, groups=4)",
             {1, 4, 6, 6},
             {4, 1, 3, 3},
             "conv_depthwise"},
        Case{"DepthwiseOfOnePixel",
             "torch.conv2d(%x, %w, groups=4)",
             {1, 4, 6, 6},
             {4, 1, 1, 1},
             "conv_depthwise"},
        Case{"TwoOutputsPerChannel",
             "torch.conv2d(%x, %w, groups=4)",
             {1, 4, 6, 6},
             {8, 1, 3, 3},
             "conv_multiplied"},
        Case{"Grouped",
             "torch.conv2d(%x, %w, groups=2)",
             {1, 4, 6, 6},
             {8, 2, 3, 3},
             "conv_grouped"},
        Case{"Linear", "torch.nn.functional.linear(%x, %w)", {2, 4}, {8, 4}, "linear"},
        Case{"Product", "torch.matmul(%x, %w)", {2, 4}, {4, 8}, "product"},
        Case{"Relu", "torch.relu(%x)", {2, 4}, {1}, "relu"}),
    [](const auto& info) { return info.param.name; });

TEST(KernelTimes, WithoutCostsOrShapesAreZero) {
  const platforms::KernelCosts none;
  const auto owner = module_of("torch.relu(%x)", {2, 4}, {1});
  const fx::GraphModule& module = *owner;
  const fx::Node& node = *module.graph().find("y");
  EXPECT_EQ(KernelTimes(module, none).of(node, call_of(module)).as_float, 0);

  platforms::KernelCosts costs;
  costs.kernels["relu"] = {.as_float = {0, 1}, .as_integer = {0, 2}};
  costs.quantize = 3;
  const NodeTime known = KernelTimes(module, costs).of(node, call_of(module));
  EXPECT_EQ(known.as_float, 8 * 1000);
  EXPECT_EQ(known.as_integer, 2 * 8 * 1000);
  const fx::GraphModule unknown(fx::parse_graph("%x = input()\n%y = torch.relu(%x)\nreturn %y"),
                                "Case");
  const KernelTimes times(unknown, costs);
  EXPECT_EQ(times.of(*unknown.graph().find("y"), call_of(unknown)).as_float, 0);
  EXPECT_EQ(times.to_quantize(*unknown.graph().find("y")), 0);
}

TEST(KernelTimes, AreRoundedToPicoseconds) {
  const auto owner = module_of("torch.relu(%x)", {1, 3}, {1});
  const fx::GraphModule& module = *owner;
  platforms::KernelCosts costs;
  costs.dequantize = 0.0005;  // 3 elements: 1.5 picoseconds
  costs.shortest_network = 0.0004;
  const KernelTimes times(module, costs);
  EXPECT_EQ(times.to_dequantize(*module.graph().find("y")), 2);
  EXPECT_EQ(times.shortest_network(), 0);
}

}  // namespace
}  // namespace sparsebit::quant::kernel_times_test
