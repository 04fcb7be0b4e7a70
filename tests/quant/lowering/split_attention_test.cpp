#include "quant/lowering/split_attention.h"

#include "sparsebit/fx/interpreter.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::quant::split_attention_test {
namespace {

using fx::Kwargs;
using fx::Value;

size_t count(const fx::GraphModule& module, const std::string& target) {
  size_t found = 0;
  for (const fx::Node& node : module.graph().nodes()) found += node.target() == target;
  return found;
}

at::Tensor example() { return at::arange(60, at::kFloat).reshape({3, 5, 4}).sin(); }

/// Splits the model's attention and checks that the results stay the same.
void expect_same_steps(fx::GraphModule& module, const std::vector<Value>& inputs) {
  module.eval();
  const at::Tensor before = module.invoke(inputs).tensor();
  fx::record_shapes(module, inputs);
  EXPECT_TRUE(split_attention(module));
  EXPECT_TRUE(at::allclose(module.invoke(inputs).tensor(), before, 1e-5, 1e-6));
  EXPECT_EQ(count(module, "torch.matmul"), 2u);
  EXPECT_EQ(count(module, "torch.softmax"), 1u);
  EXPECT_FALSE(split_attention(module));
}

struct ProductCase {
  const char* name;
  Kwargs options;
  at::Tensor mask = {};
};

class Product : public ::testing::TestWithParam<ProductCase> {};

TEST_P(Product, ComputesTheSameInSteps) {
  auto graph = std::make_unique<fx::Graph>();
  fx::Node& x = graph->placeholder("x");
  fx::Node& mask = graph->placeholder("mask");
  Kwargs options = GetParam().options;
  if (GetParam().mask.defined()) options.emplace_back("attn_mask", Value(mask));
  fx::Node& result =
      graph->call_function("torch.nn.functional.scaled_dot_product_attention", {x, x, x}, options);
  graph->output(result);
  const std::string name = result.name();
  fx::GraphModule module(std::move(graph), "Net");
  const at::Tensor given = GetParam().mask.defined() ? GetParam().mask : at::zeros({5, 5});
  expect_same_steps(module, {example(), given});
  ASSERT_NE(module.graph().find(name), nullptr) << name;  // keeps its name
  EXPECT_EQ(module.graph().find(name)->target(), "torch.matmul");
}

const ProductCase kProducts[] = {
    {"Plain", {}},
    {"Scale", {{"scale", 0.25}}},
    {"Causal", {{"is_causal", true}}},
    {"BoolMask", {}, at::ones({5, 5}, at::kBool).tril()},
    {"FloatMask", {}, at::arange(25, at::kFloat).reshape({5, 5})},
};
INSTANTIATE_TEST_SUITE_P(SplitAttention, Product, ::testing::ValuesIn(kProducts),
                         [](const auto& info) { return std::string(info.param.name); });

struct LayerCase {
  const char* name;
  bool batch_first = true;
  at::Tensor mask = {}, padding = {};
};

class Layer : public ::testing::TestWithParam<LayerCase> {};

TEST_P(Layer, ComputesTheSameInLayers) {
  const LayerCase& c = GetParam();
  auto graph = std::make_unique<fx::Graph>();
  fx::Node& x = graph->placeholder("x");
  fx::Node& mask = graph->placeholder("mask");
  fx::Node& padding = graph->placeholder("padding");
  Kwargs options = {{"need_weights", false}};
  if (c.mask.defined()) options.emplace_back("attn_mask", Value(mask));
  if (c.padding.defined()) options.emplace_back("key_padding_mask", Value(padding));
  fx::Node& both = graph->call_module("attention", {x, x, x}, options);
  graph->output(graph->call_function("operator.getitem", {both, 0}));
  fx::GraphModule module(std::move(graph), "Net");
  module.set_module("attention", nn::MultiheadAttention(4, 2, {{"batch_first", c.batch_first}}));
  const at::Tensor none = at::zeros({1});
  expect_same_steps(module, {example(), c.mask.defined() ? c.mask : none,
                             c.padding.defined() ? c.padding : none});
  for (const char* layer : {"q_proj", "k_proj", "v_proj", "out_proj"})
    EXPECT_EQ(count(module, std::string("attention.") + layer), 1u);
}

const LayerCase kLayers[] = {
    {"BatchFirst"},
    {"TimeFirst", false},
    {"BoolMask", true, at::ones({5, 5}, at::kBool).triu(1)},
    {"MaskOfEachHead", true, at::arange(150, at::kFloat).reshape({6, 5, 5}).sin()},
    {"Padding", true, {}, at::arange(15).reshape({3, 5}).remainder(5) > 2},
};
INSTANTIATE_TEST_SUITE_P(SplitAttention, Layer, ::testing::ValuesIn(kLayers),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(SplitAttention, KeepsWhatGivesItsWeights) {
  auto graph = std::make_unique<fx::Graph>();
  fx::Node& x = graph->placeholder("x");
  fx::Node& both = graph->call_module("attention", {x, x, x});
  graph->output(graph->call_function("operator.getitem", {both, 1}));
  fx::GraphModule module(std::move(graph), "Net");
  module.set_module("attention", nn::MultiheadAttention(4, 2, {{"batch_first", true}}));
  module.eval();
  fx::record_shapes(module, {example()});
  EXPECT_FALSE(split_attention(module));
  EXPECT_EQ(count(module, "attention"), 1u);
}

}  // namespace
}  // namespace sparsebit::quant::split_attention_test
