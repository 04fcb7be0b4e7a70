#include "fx/ops/op_case.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/functional/activation.h>

namespace sparsebit::fx::test::activation_test {
namespace {

namespace F = torch::nn::functional;

TEST(Activation, RectifiersEqualLibtorch) {
  const at::Tensor x = normal({3, 5}) * 4;
  expect_equal_to_libtorch({
      {"torch.relu(%a)", {x}},
      {"%a.relu()", {x}},
      {"%a.relu_()", {x}},
      {"torch.relu_(%a)", {x}},
      {"torch.nn.functional.relu(%a)", {x}, [](Tensors t) { return Tensors{at::relu(t[0])}; }},
      {"torch.nn.functional.relu(%a, inplace=True)",
       {x},
       [](Tensors t) { return Tensors{at::relu_(t[0])}; }},
      {"torch.nn.functional.relu_(%a)", {x}, [](Tensors t) { return Tensors{at::relu_(t[0])}; }},
      {"torch.nn.functional.relu6(%a, True)",
       {x},
       [](Tensors t) { return Tensors{t[0].clamp_(0, 6)}; }},
      {"torch.nn.functional.leaky_relu(%a)",
       {x},
       [](Tensors t) { return Tensors{at::where(t[0] > 0, t[0], t[0] * 0.01)}; },
       true,
       1e-6},
      {"torch.nn.functional.leaky_relu(%a, 0.2)",
       {x},
       [](Tensors t) { return Tensors{at::leaky_relu(t[0], 0.2)}; }},
      {"torch.nn.functional.leaky_relu_(%a, negative_slope=0.3)",
       {x},
       [](Tensors t) { return Tensors{at::leaky_relu_(t[0], 0.3)}; }},
      {"torch.prelu(%a, %b)", {x, normal({5})}},
      {"%a.prelu(%b)", {x, normal({1})}},
      {"torch.nn.functional.prelu(%a, %b)",
       {x, normal({1})},
       [](Tensors t) { return Tensors{at::prelu(t[0], t[1])}; }},
      {"torch.threshold(%a, 0.1, 20.0)", {x}},
      {"torch.threshold_(%a, 0.1, 20.0)", {x}},
      {"torch.nn.functional.threshold(%a, 0.1, 20.0)",
       {x},
       [](Tensors t) { return Tensors{at::threshold(t[0], 0.1, 20.0)}; }},
      {"torch.nn.functional.threshold_(%a, 0.1, 20.0)",
       {x},
       [](Tensors t) { return Tensors{at::threshold_(t[0], 0.1, 20.0)}; }},
  });
}

TEST(Activation, ExponentialUnitsEqualLibtorch) {
  const at::Tensor x = normal({3, 5}) * 4;
  expect_equal_to_libtorch({
      {"torch.nn.functional.elu(%a)", {x}, [](Tensors t) { return Tensors{F::elu(t[0])}; }},
      {"torch.nn.functional.elu(%a, 0.5, inplace=True)",
       {x},
       [](Tensors t) {
         return Tensors{F::elu(t[0], F::ELUFuncOptions().alpha(0.5).inplace(true))};
       }},
      {"torch.nn.functional.elu_(%a, alpha=2.0)",
       {x},
       [](Tensors t) { return Tensors{at::elu_(t[0], 2.0)}; }},
      {"torch.celu(%a)", {x}},
      {"torch.celu(%a, alpha=0.5)", {x}},
      {"torch.celu_(%a, 2.0)", {x}},
      {"torch.nn.functional.celu(%a, 0.5)",
       {x},
       [](Tensors t) { return Tensors{F::celu(t[0], F::CELUFuncOptions().alpha(0.5))}; }},
      {"torch.nn.functional.celu_(%a)", {x}, [](Tensors t) { return Tensors{at::celu_(t[0])}; }},
      {"torch.selu(%a)", {x}},
      {"torch.selu_(%a)", {x}},
      {"torch.nn.functional.selu(%a, inplace=True)",
       {x},
       [](Tensors t) { return Tensors{F::selu(t[0], F::SELUFuncOptions().inplace(true))}; }},
      {"torch.nn.functional.selu_(%a)", {x}, [](Tensors t) { return Tensors{at::selu_(t[0])}; }},
      {"torch.nn.functional.softplus(%a)",
       {x},
       [](Tensors t) { return Tensors{F::softplus(t[0])}; }},
      {"torch.nn.functional.softplus(%a, beta=2, threshold=1)",
       {x},
       [](Tensors t) {
         return Tensors{F::softplus(t[0], F::SoftplusFuncOptions().beta(2).threshold(1))};
       }},
  });
}

TEST(Activation, SigmoidUnitsEqualLibtorch) {
  const at::Tensor x = normal({3, 6}) * 4;
  expect_equal_to_libtorch({
      {"torch.sigmoid(%a)", {x}},
      {"torch.sigmoid_(%a)", {x}},
      {"%a.sigmoid()", {x}},
      {"%a.sigmoid_()", {x}},
      {"torch.nn.functional.sigmoid(%a)",
       {x},
       [](Tensors t) { return Tensors{at::sigmoid(t[0])}; }},
      {"torch.special.expit(%a)", {x}, [](Tensors t) { return Tensors{at::special_expit(t[0])}; }},
      {"torch.nn.functional.logsigmoid(%a)",
       {x},
       [](Tensors t) { return Tensors{F::logsigmoid(t[0])}; }},
      {"torch.nn.functional.hardsigmoid(%a)",
       {x},
       [](Tensors t) { return Tensors{at::hardsigmoid(t[0])}; }},
      {"torch.nn.functional.hardsigmoid(%a, inplace=True)",
       {x},
       [](Tensors t) { return Tensors{at::hardsigmoid_(t[0])}; }},
      {"torch.nn.functional.silu(%a)", {x}, [](Tensors t) { return Tensors{F::silu(t[0])}; }},
      {"torch.nn.functional.silu(%a, True)",
       {x},
       [](Tensors t) { return Tensors{at::silu_(t[0])}; }},
      {"torch.nn.functional.hardswish(%a)",
       {x},
       [](Tensors t) { return Tensors{at::hardswish(t[0])}; }},
      {"torch.nn.functional.hardswish(%a, inplace=True)",
       {x},
       [](Tensors t) { return Tensors{at::hardswish_(t[0])}; }},
      {"torch.nn.functional.mish(%a)", {x}, [](Tensors t) { return Tensors{F::mish(t[0])}; }},
      {"torch.nn.functional.mish(%a, inplace=True)",
       {x},
       [](Tensors t) { return Tensors{at::mish_(t[0])}; }},
      {"torch.nn.functional.gelu(%a)", {x}, [](Tensors t) { return Tensors{F::gelu(t[0])}; }},
      {"torch.nn.functional.gelu(%a, approximate='tanh')",
       {x},
       [](Tensors t) { return Tensors{F::gelu(t[0], F::GELUFuncOptions().approximate("tanh"))}; }},
      {"torch.nn.functional.glu(%a)", {x}, [](Tensors t) { return Tensors{F::glu(t[0])}; }},
      {"torch.nn.functional.glu(%a, dim=0)",
       {normal({4, 3})},
       [](Tensors t) { return Tensors{F::glu(t[0], F::GLUFuncOptions(0))}; }},
  });
}

TEST(Activation, TanhUnitsEqualLibtorch) {
  const at::Tensor x = normal({3, 5}) * 2;
  expect_equal_to_libtorch({
      {"torch.tanh(%a)", {x}},
      {"torch.tanh_(%a)", {x}},
      {"%a.tanh()", {x}},
      {"%a.tanh_()", {x}},
      {"torch.nn.functional.tanh(%a)", {x}, [](Tensors t) { return Tensors{at::tanh(t[0])}; }},
      {"torch.nn.functional.hardtanh(%a)",
       {x},
       [](Tensors t) { return Tensors{F::hardtanh(t[0])}; }},
      {"torch.nn.functional.hardtanh(%a, -0.5, max_val=2.0, inplace=True)",
       {x},
       [](Tensors t) { return Tensors{at::hardtanh_(t[0], -0.5, 2.0)}; }},
      {"torch.nn.functional.hardtanh_(%a, min_val=0.0)",
       {x},
       [](Tensors t) { return Tensors{at::hardtanh_(t[0], 0.0, 1.0)}; }},
      {"torch.nn.functional.softsign(%a)",
       {x},
       [](Tensors t) { return Tensors{F::softsign(t[0])}; }},
      {"torch.nn.functional.tanhshrink(%a)",
       {x},
       [](Tensors t) { return Tensors{F::tanhshrink(t[0])}; }},
      {"torch.nn.functional.softshrink(%a, lambd=0.3)",
       {x},
       [](Tensors t) { return Tensors{F::softshrink(t[0], F::SoftshrinkFuncOptions(0.3))}; }},
      {"torch.hardshrink(%a)", {x}},
      {"torch.hardshrink(%a, 0.3)", {x}},
      {"%a.hardshrink(lambd=1.0)", {x}},
      {"torch.nn.functional.hardshrink(%a)",
       {x},
       [](Tensors t) { return Tensors{F::hardshrink(t[0])}; }},
  });
}

TEST(Activation, SoftmaxesEqualLibtorch) {
  const at::Tensor x = normal({2, 3, 4});
  expect_equal_to_libtorch({
      {"torch.softmax(%a, 1)", {x}},
      {"torch.softmax(%a, dim=-1)", {x}},
      {"torch.softmax(%a, -1, dtype=torch.float64)",
       {x},
       [](Tensors t) { return Tensors{at::softmax(t[0], -1, at::kDouble)}; }},
      {"%a.softmax(-1)", {x}},
      {"torch.nn.functional.softmax(%a, dim=1)",
       {x},
       [](Tensors t) { return Tensors{F::softmax(t[0], F::SoftmaxFuncOptions(1))}; }},
      // The third argument is a stack level for warnings, not the dtype.
      {"torch.nn.functional.softmax(%a, -1, 3, torch.float64)",
       {x},
       [](Tensors t) { return Tensors{at::softmax(t[0], -1, at::kDouble)}; }},
      // torch picks dim 0 for vectors and volumes, 1 otherwise.
      {"torch.nn.functional.softmax(%a)",
       {x},
       [](Tensors t) { return Tensors{at::softmax(t[0], 0)}; }},
      {"torch.nn.functional.softmax(%a)",
       {normal({2, 3})},
       [](Tensors t) { return Tensors{at::softmax(t[0], 1)}; }},
      {"torch.log_softmax(%a, 1)", {x}},
      {"%a.log_softmax(dim=-1)", {x}},
      {"torch.nn.functional.log_softmax(%a, dim=2)",
       {x},
       [](Tensors t) { return Tensors{F::log_softmax(t[0], F::LogSoftmaxFuncOptions(2))}; }},
      {"torch.nn.functional.softmin(%a, dim=1)",
       {x},
       [](Tensors t) { return Tensors{F::softmin(t[0], F::SoftminFuncOptions(1))}; }},
  });
}

TEST(Activation, MisspelledArgumentsAreNamed) {
  EXPECT_EQ(error_of("torch.nn.functional.gelu(%a, approximat='tanh')", {normal({2})}),
            "unknown argument 'approximat'; did you mean 'approximate'?; the signature is (input, "
            "approximate='none')\n  in a call of torch.nn.functional.gelu");
}

}  // namespace
}  // namespace sparsebit::fx::test::activation_test
