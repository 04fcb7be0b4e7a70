// All passes on models that were not made for them: exported by torch (torchvision's and a BERT),
// and the zoo.

#include "passes/pass_case.h"

#include "sparsebit/frontends/onnx.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/tracer.h"
#include "sparsebit/io/npy.h"
#include "sparsebit/zoo/zoo.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>

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

void simplify_fuse_equalize(fx::GraphModule& module, const std::vector<fx::Value>& inputs) {
  fx::record_shapes(module, inputs);
  const std::vector<at::Tensor> before = outputs_of(module, inputs);
  run_passes(module, {.stages = {Stage::Simplify}});
  EXPECT_LE(difference(outputs_of(module, inputs), before), 1e-5) << "simplified";
  run_passes(module, {.stages = {Stage::Fuse}});
  EXPECT_LE(difference(outputs_of(module, inputs), before), 1e-5) << "fused";
  run_passes(module, {.stages = {Stage::Equalize}});
  EXPECT_LE(difference(outputs_of(module, inputs), before), 1e-4) << "equalized";
}

struct Expectation {
  const char* name;
  std::map<std::string, int> operators;  ///< how many there are afterwards
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

TEST_P(Torchvision, EachPassAloneLeavesItTheSame) {
  const std::string folder = std::string(SPARSEBIT_FIXTURES) + "/" + GetParam().name;
  const fx::Value input = io::load_npy(folder + ".input.npy");
  const auto original = frontends::import_onnx(folder + ".opset13.onnx");
  original->eval();
  fx::record_shapes(*original, {input});
  const std::vector<at::Tensor> before = outputs_of(*original, {input});
  for (const std::string& pass : passes().names()) {
    const auto module = original->clone_graph_module();
    run_selected(*module, {pass});
    EXPECT_LE(difference(outputs_of(*module, {input}), before), 1e-5) << pass;
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
