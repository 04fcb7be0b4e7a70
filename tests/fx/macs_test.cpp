#include "sparsebit/fx/macs.h"

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/parser.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::fx::macs_test {
namespace {

/// Of `%y = CALL`, whose operands are `%x` and a weight `%w`.
int64_t macs_of(const std::string& call, const at::Tensor& x, at::IntArrayRef w,
                bool with_shapes = true) {
  GraphModule module(parse_graph("%x = input()\n%w = self.w\n%y = " + call + "\nreturn %y"),
                     "Case");
  module.add_parameter("w", at::ones(w));
  if (with_shapes) record_shapes(module, {x});
  const Node& node = *module.graph().find("y");
  const OperatorCall resolved = *resolve(node, module);
  return multiply_accumulates(node, resolved,
                              resolved.op->weight ? w.vec() : std::vector<int64_t>{});
}

TEST(Macs, EveryResultOfALayerSumsTheInputsItSees) {
  // 2 samples, 6 channels of 4 x 5, each from 3 channels of 3 x 3.
  EXPECT_EQ(macs_of("torch.conv2d(%x, %w)", at::ones({2, 3, 6, 7}), {6, 3, 3, 3}),
            2 * 6 * 4 * 5 * 27);
  EXPECT_EQ(
      macs_of("torch.conv2d(%x, %w, stride=2, padding=1)", at::ones({1, 3, 6, 6}), {6, 3, 3, 3}),
      6 * 3 * 3 * 27);
  EXPECT_EQ(macs_of("torch.conv2d(%x, %w, groups=4)", at::ones({1, 8, 5, 5}), {8, 2, 1, 1}),
            8 * 25 * 2);
  EXPECT_EQ(macs_of("torch.conv1d(%x, %w)", at::ones({1, 3, 9}), {4, 3, 2}), 4 * 8 * 6);
  EXPECT_EQ(macs_of("torch.nn.functional.linear(%x, %w)", at::ones({2, 5, 7}), {3, 7}),
            2 * 5 * 3 * 7);
}

/// Every input element is multiplied with all weights of its channel, whatever the stride.
TEST(Macs, OfTransposedConvolutionsEveryInputIsSpread) {
  EXPECT_EQ(
      macs_of("torch.conv_transpose2d(%x, %w, stride=2)", at::ones({1, 3, 4, 4}), {3, 5, 2, 2}),
      3 * 16 * 5 * 4);
  EXPECT_EQ(
      macs_of("torch.conv_transpose2d(%x, %w, groups=3)", at::ones({1, 3, 4, 4}), {3, 2, 2, 2}),
      3 * 16 * 2 * 4);
}

TEST(Macs, ProductsSumOverTheLastAxisOfTheFirstOperand) {
  EXPECT_EQ(macs_of("torch.matmul(%x, %w)", at::ones({2, 3, 5}), {5, 4}), 2 * 3 * 4 * 5);
  EXPECT_EQ(macs_of("torch.matmul(%w, %x)", at::ones({2, 3, 5}), {4, 3}), 2 * 4 * 5 * 3);
  EXPECT_EQ(macs_of("torch.bmm(%x, %w)", at::ones({2, 3, 5}), {2, 5, 4}), 2 * 3 * 4 * 5);
  EXPECT_EQ(macs_of("torch.matmul(%x, %w)", at::ones({7}), {7}), 7);
  EXPECT_EQ(macs_of("torch.dot(%x, %w)", at::ones({7}), {7}), 7);
  EXPECT_EQ(macs_of("torch.mv(%x, %w)", at::ones({3, 7}), {7}), 3 * 7);
}

/// Each time step is multiplied with the matrices of every layer and direction.
TEST(Macs, OfRecurrentLayers) {
  GraphModule module(parse_graph("%x = input()\n%y = self.lstm(%x)\nreturn %y"), "Case");
  module.set_module("lstm", nn::LSTM(5, 7, {{"num_layers", 2}, {"bidirectional", true}}));
  record_shapes(module, {at::ones({11, 3, 5})});
  const Node& node = *module.graph().find("y");
  const int64_t of_direction = 4 * 7 * (5 + 7) + 4 * 7 * (2 * 7 + 7);
  EXPECT_EQ(multiply_accumulates(node, *resolve(node, module), {}), 11 * 3 * 2 * of_direction);
}

TEST(Macs, OthersHaveNone) {
  EXPECT_EQ(macs_of("torch.mul(%x, %w)", at::ones({2, 3}), {2, 3}), 0);
  EXPECT_EQ(macs_of("torch.relu(%x)", at::ones({2, 3}), {1}), 0);
  // An embedding copies rows.
  EXPECT_EQ(macs_of("torch.nn.functional.embedding(%x, %w)", at::zeros({2, 3}, at::kLong), {9, 4}),
            0);
}

TEST(Macs, WithoutShapesThereIsNoNumber) {
  EXPECT_EQ(macs_of("torch.conv2d(%x, %w)", at::ones({1, 3, 6, 6}), {6, 3, 3, 3}, false), 0);
  EXPECT_EQ(macs_of("torch.matmul(%x, %w)", at::ones({2, 3}), {3, 4}, false), 0);
}

}  // namespace
}  // namespace sparsebit::fx::macs_test
