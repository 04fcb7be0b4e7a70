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
#include <memory>
#include <utility>

namespace sparsebit::exports::test::onnxruntime_kernels_test {
namespace {

/// A model of one operator.
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

/// A layer norm with random weight and bias.
nn::ModulePtr trained_norm(int64_t size) {
  nn::ModulePtr norm = nn::LayerNorm(size, {{"eps", 1e-6}});
  const auto generator = at::detail::createCPUGenerator(5);
  const at::NoGradGuard no_gradients;
  at::Tensor(*norm->find_tensor("weight")).normal_(1, 0.3, generator);
  at::Tensor(*norm->find_tensor("bias")).normal_(0, 0.3, generator);
  return norm;
}

/// A function as a module.
class Function : public nn::Module {
 public:
  using Body = std::function<nn::Value(const nn::Value&)>;
  explicit Function(Body body) : Module("Function", "x"), body_(std::move(body)) {}
  nn::Value forward(const nn::Args& in) override { return body_(in["x"]); }

 private:
  Body body_;
};

Case function(const std::string& name, const Function::Body& body) {
  return {name, [=] { return std::make_shared<Function>(body); }};
}

/// A layer norm of the first elements of each row.
class NormOfFew : public nn::Module {
 public:
  explicit NormOfFew(int64_t size) : Module("NormOfFew", "x"), size_(size) {
    add_module("norm", trained_norm(size));
  }
  nn::Value forward(const nn::Args& in) override {
    return call("norm", nn::getitem(in["x"], fx::Tuple({fx::Slice(), fx::Slice(0, size_)})));
  }

 private:
  int64_t size_;
};

/// RMS norm as in Llama.
nn::Value root_mean_square_norm(const nn::Value& x) {
  const nn::Value squares = nn::mean(nn::call_function("torch.pow", {x, 2}), {-1}, true);
  return x * nn::call_function("torch.rsqrt", {squares + 1e-5});
}

class RuntimeArithmetic : public testing::TestWithParam<Case> {};

/// For the instruction set that ONNX Runtime detects on this machine.
TEST_P(RuntimeArithmetic, SameBitsAsOnnxRuntime) {
  // Full vectors and a remainder, with values of wide and narrow range.
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

  const at::Tensor different = found.ne(result.outputs.front());
  EXPECT_EQ(different.sum().item<int64_t>(), 0) << "of " << different.numel();
}

INSTANTIATE_TEST_SUITE_P(
    Steps, RuntimeArithmetic,
    testing::Values(
        Case{"LayerNorm", [] { return trained_norm(197); }},
        Case{"LayerNormOfOneVectorAndARest", [] { return std::make_shared<NormOfFew>(15); }},
        Case{"LayerNormOfLessThanAVector", [] { return std::make_shared<NormOfFew>(5); }},
        Case{"Softmax", [] { return nn::Softmax(-1); }},
        Case{"SoftmaxOfFirstAxis", [] { return nn::Softmax(0); }},
        function("LogSoftmax",
                 [](auto& x) {
                   return nn::call_function("torch.log_softmax", {x, -1});
                 }),
        function("Gelu", [](auto& x) { return nn::gelu(x); }),
        function("GeluWithTanh",
                 [](auto& x) {
                   return nn::gelu(x, {{"approximate", "tanh"}});
                 }),
        function("Silu", [](auto& x) { return nn::silu(x); }),
        function("Sigmoid", [](auto& x) { return nn::call_function("torch.sigmoid", {x}); }),
        function("Tanh", [](auto& x) { return nn::call_function("torch.tanh", {x}); }),
        function("Exp", [](auto& x) { return nn::call_function("torch.exp", {x}); }),
        Case{"Hardswish", [] { return nn::Hardswish(); }},
        function("Hardsigmoid",
                 [](auto& x) { return nn::call_function("torch.nn.functional.hardsigmoid", {x}); }),
        function("RootMeanSquareNorm", root_mean_square_norm)),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace sparsebit::exports::test::onnxruntime_kernels_test
