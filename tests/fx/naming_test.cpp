#include "sparsebit/fx/naming.h"

#include <gtest/gtest.h>

namespace sparsebit::fx::naming_test {
namespace {

// Expected values were produced by torch.fx 1.13 (Graph._target_to_str and _Namespace.create_name).
struct TargetCase {
  const char* target;
  const char* name;
};

TEST(Naming, FunctionsKeepTheirLastPartInSnakeCase) {
  const TargetCase cases[] = {
      {"torch.add", "add"},
      {"operator.getitem", "getitem"},
      {"torch.nn.functional.adaptive_avg_pool2d", "adaptive_avg_pool2d"},
      {"__add__", "add"},
      {"LayerNorm", "layer_norm"},
      {"GPT2Model", "gpt2model"},
      {"getattr", "getattr"},
  };
  for (const auto& [target, name] : cases) EXPECT_EQ(name_from_function(target), name);
}

TEST(Naming, PathsBecomeSnakeCase) {
  EXPECT_EQ(name_from_path("bert.LayerNorm"), "bert.layer_norm");
  EXPECT_EQ(name_from_path("layer1.0.conv1"), "layer1.0.conv1");
}

TEST(Naming, NamesAreUniqueIdentifiers) {
  Namespace names;
  const TargetCase requests[] = {
      {"layer1.0.relu", "layer1_0_relu"},
      {"layer1.0.relu", "layer1_0_relu_1"},
      {"layer1.0.relu", "layer1_0_relu_2"},
      {"0", "_0"},
      {"0", "_1"},
      {"a..b--c", "a_b_c"},
      {"conv_3", "conv_3"},
      {"conv", "conv"},
      {"conv", "conv_1"},
      {"conv_3", "conv_4"},
      {"conv_1", "conv_2"},
      {"relu_01", "relu_1"},
      {"", "_"},
  };
  for (const auto& [candidate, name] : requests) EXPECT_EQ(names.unique(candidate), name);
}

TEST(Naming, PythonsWordsAreAvoided) {
  Namespace names;
  EXPECT_EQ(names.unique("input"), "input_1");
  EXPECT_EQ(names.unique("max"), "max_1");
  EXPECT_EQ(names.unique("max"), "max_2");
  EXPECT_EQ(names.unique("lambda"), "lambda_1");
  EXPECT_EQ(names.unique("torch"), "torch_1");
  EXPECT_EQ(names.unique("size"), "size");
}

TEST(Naming, ManyRequestsOfANumberedNameAreFast) {
  Namespace names;
  std::string last;
  for (int i = 0; i < 200000; ++i) last = names.unique("layers.1");
  EXPECT_EQ(last, "layers_200000");
}

TEST(Naming, HugeNumbersInNamesAreKept) {
  Namespace names;
  EXPECT_EQ(names.unique("x_99999999999999999999999"), "x_99999999999999999999999");
}

}  // namespace
}  // namespace sparsebit::fx::naming_test
