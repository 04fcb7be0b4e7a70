#include "sparsebit/quant/kernels/onnxruntime_kernels.h"

#include "core/temp_dir.h"
#include "support/ort.h"

#include "sparsebit/export/onnx.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/tracer.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>

namespace sparsebit::exports::test::onnxruntime_kernels_test {
namespace {

/// A model of one step.
class Step : public nn::Module {
 public:
  explicit Step(nn::ModulePtr step) : Module("Step", "x") { add_module("step", std::move(step)); }
  nn::Value forward(const nn::Args& in) override { return call("step", in["x"]); }
};

struct Case {
  std::string name;
  std::function<nn::ModulePtr()> make;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

/// A layer norm that does not only norm.
nn::ModulePtr trained_norm(int64_t size) {
  nn::ModulePtr norm = nn::LayerNorm(size, {{"eps", 1e-6}});
  const auto generator = at::detail::createCPUGenerator(5);
  const at::NoGradGuard no_gradients;
  at::Tensor(*norm->find_tensor("weight")).normal_(1, 0.3, generator);
  at::Tensor(*norm->find_tensor("bias")).normal_(0, 0.3, generator);
  return norm;
}

class RuntimeArithmetic : public testing::TestWithParam<Case> {};

TEST_P(RuntimeArithmetic, SameBitsAsOnnxRuntime) {
  // Whole vectors, a rest, and wide and narrow numbers.
  const at::Tensor x = at::randn({40, 197}, at::detail::createCPUGenerator(3)) *
                       at::logspace(-2, 1.3, 40).unsqueeze(1);
  Step model(GetParam().make());
  const auto traced = fx::Tracer().trace(model);
  traced->eval();
  const sparsebit::test::TempDir dir;
  export_onnx(*traced, dir / "m.onnx", {.opset = 17, .inputs = {x}});
  const auto result =
      sparsebit::test::run_onnxruntime({{.model = dir / "m.onnx", .inputs = {{"x", x}}}}).front();
  ASSERT_EQ(result.error, "");

  fx::Interpreter interpreter(*traced, fx::RunMode::Inference);
  interpreter.use_kernels(quant::onnxruntime_kernels());
  const at::Tensor found = interpreter.run({x}).tensor();

  const at::Tensor& expected = result.outputs.front();
  EXPECT_LE(((found - expected).abs() / expected.abs().clamp_min(1)).max().item<double>(), 1e-6);
  if (__builtin_cpu_supports("avx512f")) return;  // other kernels there, which add in another order
  const at::Tensor different = found.ne(expected);
  EXPECT_EQ(different.sum().item<int64_t>(), 0) << "of " << different.numel();
}

INSTANTIATE_TEST_SUITE_P(Steps, RuntimeArithmetic,
                         testing::Values(Case{"LayerNorm", [] { return trained_norm(197); }},
                                         Case{"Softmax", [] { return nn::Softmax(-1); }},
                                         Case{"SoftmaxOfFirstAxis", [] { return nn::Softmax(0); }},
                                         Case{"Gelu", [] { return nn::GELU(); }}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace sparsebit::exports::test::onnxruntime_kernels_test
