// Operators of torch 2 that libtorch 1.13 does not have.

#include "core/temp_dir.h"
#include "frontends/torchscript/reference.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/import.h>

#include <limits>

namespace sparsebit::frontends::testing::newer_operators_test {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

/// A model whose forward(self, x) returns `expression`.
std::string model_of(const test::TempDir& folder, const std::string& expression) {
  const std::string plain =
      scripted(folder.path(), "def forward(self, x):\n  return torch.relu(x)\n");
  return with_code(plain, "torch.relu(x)", expression);
}

at::Tensor example() { return at::arange(192, at::kFloat).reshape({2, 4, 6, 4}).sin(); }

at::Tensor attention(const at::Tensor& x, double scale, const at::Tensor& bias) {
  return at::matmul(at::softmax(at::matmul(x, x.transpose(-2, -1)) * scale + bias, -1), x);
}

at::Tensor no_bias() { return at::zeros({6, 6}); }
at::Tensor causal_bias() {
  return at::zeros({6, 6}).masked_fill(at::ones({6, 6}, at::kBool).triu(1), kMinusInfinity);
}

struct Case {
  const char* name;
  const char* expression;  ///< x is 2x4x6x4
  at::Tensor (*expected)(const at::Tensor& x);
};

class NewerOperator : public ::testing::TestWithParam<Case> {};

TEST_P(NewerOperator, ComputesWhatTorchDocuments) {
  const test::TempDir folder;
  const TorchScriptModel imported = import_torchscript(model_of(folder, GetParam().expression));
  const at::Tensor x = example();
  EXPECT_LE(difference(imported.module->invoke(as_values({x})), GetParam().expected(x)), 1e-6);
}

const Case kCases[] = {
    {"Attention", "torch.scaled_dot_product_attention(x, x, x)",
     [](const at::Tensor& x) { return attention(x, 0.5, no_bias()); }},
    {"AttentionWithScale", "torch.scaled_dot_product_attention(x, x, x, None, 0., False, scale=2.)",
     [](const at::Tensor& x) { return attention(x, 2.0, no_bias()); }},
    {"CausalAttention", "torch.scaled_dot_product_attention(x, x, x, None, 0., True)",
     [](const at::Tensor& x) { return attention(x, 0.5, causal_bias()); }},
    {"AttentionWithFloatMask",
     "torch.scaled_dot_product_attention(x, x, x, torch.mul(torch.matmul(x, torch.transpose(x, 2, "
     "3)), 2.))",
     [](const at::Tensor& x) {
       return attention(x, 0.5, at::matmul(x, x.transpose(-2, -1)) * 2.0);
     }},
    {"AttentionWithBoolMask",
     "torch.scaled_dot_product_attention(x, x, x, torch.gt(torch.matmul(x, torch.transpose(x, 2, "
     "3)), -1.5))",
     [](const at::Tensor& x) {
       const at::Tensor forbidden = at::matmul(x, x.transpose(-2, -1)) <= -1.5;
       return attention(x, 0.5, at::zeros({2, 4, 6, 6}).masked_fill(forbidden, kMinusInfinity));
     }},
    {"GroupedQueries",
     "torch.scaled_dot_product_attention(x, torch.slice(x, 1, 0, 2), torch.slice(x, 1, 0, 2), "
     "None, "
     "0., False, scale=None, enable_gqa=True)",
     [](const at::Tensor& x) {
       const at::Tensor k = x.narrow(1, 0, 2).repeat_interleave(2, 1);
       return at::matmul(at::softmax(at::matmul(x, k.transpose(-2, -1)) * 0.5, -1), k);
     }},
    {"RmsNorm", "torch.rms_norm(x, [4], None, 0.1)",
     [](const at::Tensor& x) { return x / (x.square().mean(-1, true) + 0.1).sqrt(); }},
    {"RmsNormOfTwoAxes", "torch.rms_norm(x, [6, 4])",
     [](const at::Tensor& x) {
       return x / (x.square().mean({-2, -1}, true) + 1.1920929e-07).sqrt();
     }},
    {"SqueezeAxes", "torch.squeeze(torch.unsqueeze(torch.unsqueeze(x, 0), 4), [0, 4])",
     [](const at::Tensor& x) { return x; }},
    {"SqueezeAxesFromTheEnd", "torch.squeeze(torch.unsqueeze(torch.unsqueeze(x, 0), 5), [-1, -6])",
     [](const at::Tensor& x) { return x; }},
    {"AnyOfAxes", "torch.any(torch.gt(x, 0.9), [1, 2], True)",
     [](const at::Tensor& x) { return (x > 0.9).any(2, true).any(1, true); }},
    {"AllOfAxes", "torch.all(torch.gt(x, -0.9), [-1, -2])",
     [](const at::Tensor& x) { return (x > -0.9).all(-1).all(-1); }},
    {"VarianceWithoutAxes", "torch.var(x, correction=0)",
     [](const at::Tensor& x) { return x.var(false); }},
    {"SafeSoftmax", "torch._safe_softmax(torch.mul(torch.log(torch.gt(x, 0.5)), 1.), -1)",
     [](const at::Tensor& x) { return at::softmax((x > 0.5).log(), -1).nan_to_num(0.0); }},
    {"Differences", "torch.diff(x, 2, -1)", [](const at::Tensor& x) { return x.diff(2, -1); }},
    {"NewTensorWithoutAxes", "torch.mul(x, torch.new_ones(x, [], dtype=6))",
     [](const at::Tensor& x) { return x; }},
};
INSTANTIATE_TEST_SUITE_P(TorchScript, NewerOperator, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

/// A skipped module runs its TorchScript code.
TEST(NewerOperators, RunInLibtorchToo) {
  const test::TempDir folder;
  const std::string path = model_of(folder, "torch.scaled_dot_product_attention(x, x, x)");
  import_torchscript(path);  // declares it
  Reference reference = load_reference(path);
  reference.inputs = {example()};
  EXPECT_LE(difference(reference.run(), attention(example(), 0.5, no_bias())), 1e-6);
}

TEST(NewerOperators, ThatNobodyKnowsStandInTheGraph) {
  const test::TempDir folder;
  const std::string path = model_of(folder, "torch.of_the_year_2040(x, 3)");
  for (int i = 0; i < 2; ++i) {  // libtorch knows it the second time
    const TorchScriptModel imported = import_torchscript(path);
    EXPECT_EQ(
        count_nodes(*imported.module, fx::Opcode::CallFunction, "torch.ops.aten.of_the_year_2040"),
        1u);
  }
}

TEST(NewerOperators, ThatNobodyKnowsAreNamedWhenTheyDoNotFit) {
  const test::TempDir folder;
  const std::string path = model_of(folder, "torch.of_the_year_2041(x, how=3)");
  EXPECT_THAT(import_error(path),
              ::testing::MatchesRegex(
                  ".*: calls aten::of_the_year_2041, an unknown operator, and "
                  "cannot be read without it \\([^\n]*\\); export the model to ONNX instead"));
}

at::Tensor extra_tensor(const std::string& bytes, at::IntArrayRef shape) {
  return at::from_blob(const_cast<char*>(bytes.data()), shape, at::kFloat).clone();
}

/// Traced and computed by torch 2 (scripts/make_torch2_fixture.py): the fast path of an encoder
/// layer, grouped queries, RMSNorm.
TEST(NewerOperators, AFileOfTorch2ComputesWhatTorch2Computed) {
  const at::NoGradGuard no_grad;
  const TorchScriptModel imported = import_torchscript(fixture("torch2.traced"));
  torch::jit::ExtraFilesMap extra = {{"input", ""}, {"expected", ""}};
  torch::jit::load(fixture("torch2.traced").string(), c10::nullopt, extra);
  const at::Tensor input = extra_tensor(extra["input"], {2, 5, 16});
  const at::Tensor expected = extra_tensor(extra["expected"], {2, 5, 16});
  EXPECT_LE(difference(imported.module->invoke(as_values({input})), expected), 1e-6);
}

}  // namespace
}  // namespace sparsebit::frontends::testing::newer_operators_test
