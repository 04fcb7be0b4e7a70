#include "quant/rounding/layer_matrix.h"

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/parser.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sparsebit::quant::layer_matrix_test {
namespace {

struct Case {
  std::string name;
  std::string call;  ///< of %x and %w
  std::vector<int64_t> input, weight;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"Linear", "torch.nn.functional.linear(%x, %w)", {2, 5, 6}, {4, 6}},
      {"Conv2d", "torch.conv2d(%x, %w, None, 2, 1)", {2, 4, 7, 8}, {6, 4, 3, 3}},
      {"Groups", "torch.conv2d(%x, %w, None, 1, [2, 1], [2, 1], 2)", {2, 4, 9, 8}, {6, 2, 3, 2}},
      {"Depthwise", "torch.conv2d(%x, %w, None, 1, 1, 1, 4)", {1, 4, 5, 5}, {8, 1, 3, 3}},
      {"NoBatch", "torch.conv2d(%x, %w)", {4, 5, 5}, {2, 4, 3, 3}},
      {"Same", "torch.conv2d(%x, %w, None, 1, 'same')", {2, 3, 6, 6}, {2, 3, 3, 3}},
      {"Conv1d", "torch.conv1d(%x, %w, None, 2, 3, 2)", {2, 4, 20}, {6, 4, 5}},
      {"Conv3d", "torch.conv3d(%x, %w, None, 1, 1, 1, 2)", {2, 4, 4, 5, 3}, {6, 2, 3, 2, 3}},
      {"Transposed", "torch.conv_transpose2d(%x, %w, None, 2, 1, 1)", {2, 4, 5, 5}, {4, 6, 3, 3}},
      {"TransposedGroups",
       "torch.conv_transpose2d(%x, %w, None, 2, 1, 0, 2)",
       {2, 4, 5, 5},
       {4, 3, 3, 3}},
      {"Transposed1d", "torch.conv_transpose1d(%x, %w, None, 3)", {2, 4, 6}, {4, 2, 5}}};
  return all;
}

/// The output of a layer is its matrix of weights times the rows of its inputs.
TEST(LayerMatrix, TimesTheRowsIsTheOutput) {
  at::manual_seed(1);
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    fx::GraphModule module(
        fx::parse_graph("%x = input()\n%w = input()\n%y = " + c.call + "\nreturn %y"), "Test");
    const at::Tensor x = at::randn(c.input), w = at::randn(c.weight);
    const at::Tensor y = fx::Interpreter(module).run({x, w}).tensor();
    const auto call = fx::resolve(*module.graph().find("y"), module);
    ASSERT_TRUE(LayerMatrix::fits(*call));
    const LayerMatrix layer(*call, w);
    const at::Tensor matrix = layer.grouped(w), rows = layer.rows(x);
    EXPECT_TRUE(at::equal(layer.ungrouped(matrix), w));
    at::Tensor product = at::bmm(matrix, rows.transpose(1, 2));  // [groups, outputs, positions]
    product = product.flatten(0, 1);
    const bool is_linear = c.name == "Linear";
    const bool batched = is_linear || c.name != "NoBatch";
    const at::Tensor expected =
        is_linear ? y.flatten(0, 1).t() : (batched ? y.transpose(0, 1) : y).flatten(1);
    EXPECT_TRUE(at::allclose(product, expected, 1e-4, 1e-4));
  }
}

TEST(LayerMatrix, NeedsFixedOptionsAndMultiplications) {
  fx::GraphModule module(
      fx::parse_graph("%x = input()\n%w = input()\n%s = input()\n"
                      "%a = torch.conv2d(%x, %w, None, %s)\n%b = torch.relu(%x)\n"
                      "%c = torch.nn.functional.embedding(%x, %w)\nreturn (%a, %b, %c)"),
      "Test");
  for (const char* name : {"a", "b", "c"})
    EXPECT_FALSE(LayerMatrix::fits(*fx::resolve(*module.graph().find(name), module))) << name;
}

}  // namespace
}  // namespace sparsebit::quant::layer_matrix_test
