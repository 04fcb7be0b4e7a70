// All passes on real models: exported by torch (torchvision models and a BERT), and the zoo.

#include "passes/pass_case.h"

#include "sparsebit/frontends/onnx.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/tracer.h"
#include "sparsebit/io/npy.h"
#include "sparsebit/zoo/zoo.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace sparsebit::passes::real_models_test {
namespace {

using test::difference;
using test::outputs_of;

std::map<std::string, int> operators_of(const fx::GraphModule& module) {
  std::map<std::string, int> counts;
  for (const fx::Node& node : module.graph().nodes()) {
    if (const fx::Spelling* spelling = fx::find_spelling(node, module))
      ++counts[spelling->op->name];
  }
  return counts;
}

/// Passes that changed at least one of the models.
std::set<std::string>& passes_that_fired() {
  static std::set<std::string> names;
  return names;
}

void note_passes(const PassReport& report) {
  for (const Change& change : report.changes) passes_that_fired().insert(change.pass);
}

void simplify_fuse_equalize(fx::GraphModule& module, const std::vector<fx::Value>& inputs) {
  fx::record_shapes(module, inputs);
  const std::vector<at::Tensor> before = outputs_of(module, inputs);
  note_passes(run_passes(module, {.stages = {Stage::Simplify}}));
  EXPECT_LE(difference(outputs_of(module, inputs), before), 1e-5) << "simplified";
  note_passes(run_passes(module, {.stages = {Stage::Fuse}}));
  EXPECT_LE(difference(outputs_of(module, inputs), before), 1e-5) << "fused";
  note_passes(run_passes(module, {.stages = {Stage::Equalize}}));
  EXPECT_LE(difference(outputs_of(module, inputs), before), 1e-4) << "equalized";
}

/// Passes whose patterns are already handled by the importers or by torch's exporter.
const std::set<std::string> kNothingToDo = {"getattr_to_shape", "merge_duplicates",
                                            "recognize_relu", "merge_reshapes", "matmul_to_linear"};

class EveryPassFires : public testing::Environment {
 public:
  void TearDown() override {
    if (testing::GTEST_FLAG(filter) != "*") return;
    for (const std::string& name : passes().names())
      EXPECT_NE(passes_that_fired().contains(name), kNothingToDo.contains(name)) << name;
  }
};
[[maybe_unused]] const auto* const kEveryPass =
    testing::AddGlobalTestEnvironment(new EveryPassFires);

struct Expectation {
  const char* name;
  std::map<std::string, int> operators;  ///< expected counts after the passes
};

class Torchvision : public testing::TestWithParam<Expectation> {};

TEST_P(Torchvision, IsTheSameNetworkInFewerSteps) {
  const std::string folder = std::string(SPARSEBIT_FIXTURES) + "/" + GetParam().name;
  const fx::Value input = io::load_npy(folder + ".input.npy");
  for (const char* opset : {"11", "13", "17"}) {
    SCOPED_TRACE(opset);
    const auto module = frontends::import_onnx(folder + ".opset" + opset + ".onnx");
    module->eval();
    const size_t before = module->graph().size();
    simplify_fuse_equalize(*module, {input});
    EXPECT_LE(module->graph().size(), before);
    const std::map<std::string, int> found = operators_of(*module);
    for (const auto& [op, count] : GetParam().operators) {
      const auto it = found.find(op);
      EXPECT_EQ(it == found.end() ? 0 : it->second, count) << op;
    }
  }
}

TEST_P(Torchvision, EachPassLeavesItTheSame) {
  const std::string folder = std::string(SPARSEBIT_FIXTURES) + "/" + GetParam().name;
  const auto module = frontends::import_onnx(folder + ".opset13.onnx");
  const fx::Value input = io::load_npy(folder + ".input.npy");
  module->eval();
  fx::record_shapes(*module, {input});
  const std::vector<at::Tensor> before = outputs_of(*module, {input});
  for (const std::string& pass : passes().names()) {
    if (run_selected(*module, {pass}).changes.empty()) continue;
    EXPECT_LE(difference(outputs_of(*module, {input}), before), 1e-4) << "up to " << pass;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Fixtures, Torchvision,
    testing::Values(Expectation{"residual", {{"batch_norm", 0}}},
                    Expectation{
                        "mobilenet_v3",
                        {{"batch_norm", 0}, {"clamp", 0}, {"hardswish", 5}, {"hardsigmoid", 2}}},
                    Expectation{"efficientnet", {{"batch_norm", 0}, {"sigmoid", 3}, {"silu", 10}}},
                    Expectation{"densenet", {{"conv2d", 10}, {"batch_norm", 6}}},
                    Expectation{"frozen", {{"batch_norm", 0}, {"mul", 0}, {"pad", 0}, {"add", 2}}},
                    Expectation{"shufflenet", {{"batch_norm", 0}}},
                    Expectation{"convnext", {{"layer_norm", 5}, {"gelu", 2}}},
                    Expectation{"swin",
                                {{"layer_norm", 6},
                                 {"gelu", 2},
                                 {"scaled_dot_product_attention", 1},
                                 {"onnx.ScatterND", 0}}},
                    Expectation{"vit",
                                {{"erf", 0},
                                 {"sqrt", 0},
                                 {"layer_norm", 5},
                                 {"gelu", 2},
                                 {"softmax", 0},
                                 {"scaled_dot_product_attention", 2}}},
                    Expectation{"pyramid", {{"batch_norm", 0}}},
                    Expectation{"bert",
                                {{"erf", 0},
                                 {"layer_norm", 5},
                                 {"gelu", 2},
                                 {"softmax", 0},
                                 {"scaled_dot_product_attention", 2}}}),
    [](const auto& info) { return std::string(info.param.name); });

class Zoo : public testing::TestWithParam<std::string> {};

TEST_P(Zoo, GivesTheSame) {
  const zoo::Example example = zoo::make(GetParam());
  const auto module = fx::Tracer().trace(*example.model);
  module->eval();
  simplify_fuse_equalize(*module, example.inputs);
  EXPECT_EQ(operators_of(*module)["batch_norm"], 0);
}

INSTANTIATE_TEST_SUITE_P(All, Zoo, testing::ValuesIn(zoo::architectures().names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace sparsebit::passes::real_models_test
