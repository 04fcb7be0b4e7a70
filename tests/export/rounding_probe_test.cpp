#include "export/certificate/rounding_probe.h"

#include "sparsebit/fx/tracer.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>

namespace sparsebit::exports::test::rounding_probe_test {
namespace {

class Function : public nn::Module {
 public:
  using Body = std::function<nn::Value(const nn::Value&)>;
  explicit Function(Body body) : Module("Function", "x"), body_(std::move(body)) {}
  nn::Value forward(const nn::Args& in) override { return body_(in["x"]); }

 private:
  Body body_;
};

nn::Value dequantized(const nn::Value& x) {
  const at::Tensor scale = at::full({}, 0.5f), zero = at::zeros({}, at::kByte);
  const nn::Value integers = nn::call_function("onnx.QuantizeLinear", {x, scale, zero});
  return nn::call_function("onnx.DequantizeLinear", {integers, scale, zero});
}

at::Tensor input() { return at::randn({4, 16}, at::detail::createCPUGenerator(1)); }

struct Case {
  std::string name;
  Function::Body body;
  bool exact_sums, changes;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class RoundingProbeTest : public testing::TestWithParam<Case> {};

TEST_P(RoundingProbeTest, ChangesWhatLibrariesRoundDifferently) {
  Function model(GetParam().body);
  const auto traced = fx::Tracer().trace(model);
  fx::record_shapes(*traced, {input()});
  RoundingProbe probe(*traced, nullptr, GetParam().exact_sums);
  EXPECT_EQ(probe.has_effect(), GetParam().changes);
  const at::Tensor usual = fx::Interpreter(*traced).run({input()}).tensor();
  const at::Tensor changed = probe.run({input()}).tensor();
  EXPECT_EQ(!usual.equal(changed), GetParam().changes);
  const double most = (usual - changed).abs().max().item<double>();
  EXPECT_LE(most, 0x1p-21 * usual.abs().max().item<double>());
  // The changes are reproducible.
  RoundingProbe again(*traced, nullptr, GetParam().exact_sums);
  EXPECT_TRUE(again.run({input()}).tensor().equal(changed));
}

nn::Value product(const nn::Value& x) { return nn::matmul(x, nn::transpose(x, 0, 1)); }

INSTANTIATE_TEST_SUITE_P(
    Steps, RoundingProbeTest,
    testing::Values(Case{"Softmax", [](auto& x) { return nn::softmax(x, -1); }, true, true},
                    Case{"Relu", [](auto& x) { return nn::relu(x); }, false, false},
                    Case{"SumOfTwo", [](auto& x) { return nn::relu(x) + x; }, false, false},
                    Case{"ProductOfFloats", product, true, true},
                    Case{"ProductOfIntegers", [](auto& x) { return product(dequantized(x)); }, true,
                         false},
                    Case{"ProductOfIntegersWithAllBits",
                         [](auto& x) { return product(dequantized(x)); }, false, true}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace sparsebit::exports::test::rounding_probe_test
