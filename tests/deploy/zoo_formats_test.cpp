// Every format for models of the zoo: it is written, or rejected with a reason.

#include "deploy/deploy_case.h"

#include "sparsebit/core/error.h"
#include "sparsebit/deploy/artefact_format.h"
#include "sparsebit/nn/layers.h"
#include "sparsebit/zoo/bert.h"
#include "sparsebit/zoo/deit.h"
#include "sparsebit/zoo/zoo.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace sparsebit::deploy::test::zoo_formats_test {
namespace {

using Names = std::set<std::string>;

struct Case {
  std::string name;
  quant::QConfig config;
  Names refused;  ///< formats that cannot represent the model
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class ZooFormats : public testing::TestWithParam<Case> {};

/// Transformers have two layers only; more would add nothing to the test.
zoo::Example small_example(const std::string& name) {
  zoo::Example example;
  if (name == "bert") {
    const at::Tensor tokens = at::ones({1, 8}, at::kLong);
    example = {zoo::bert({.vocab_size = 50,
                          .hidden_size = 32,
                          .num_layers = 2,
                          .num_heads = 4,
                          .intermediate_size = 64,
                          .max_positions = 16}),
               {tokens, tokens, tokens}};
  } else if (name == "deit_tiny") {
    example = {zoo::deit({.image_size = 64, .depth = 2}),
               {at::randn({1, 3, 64, 64}, at::detail::createCPUGenerator(1))}};
  } else {
    return zoo::make(name);
  }
  nn::reset_parameters(*example.model, 1);
  example.model->eval();
  return example;
}

quant::QuantModel calibrated_zoo(const std::string& name, const quant::QConfig& config) {
  const at::NoGradGuard no_gradients;
  const zoo::Example example = small_example(name);
  quant::QuantModel model(*example.model, config, example.inputs);
  model.prepare_calibration();
  model.forward(example.inputs);
  model.calc_qparams();
  return model;
}

TEST_P(ZooFormats, AreWrittenOrRefused) {
  const quant::QuantModel model = calibrated_zoo(GetParam().name, GetParam().config);
  const DeployModel deployed(model, "net");
  std::set<std::string> names;
  for (const onnx::NodeProto& node : deployed.clean().graph().node())
    names.insert(node.output().begin(), node.output().end());
  for (const auto& input : deployed.clean().graph().input()) names.insert(input.name());
  for (const auto& constant : deployed.clean().graph().initializer()) names.insert(constant.name());
  for (const TensorRange& range : deployed.ranges())
    EXPECT_TRUE(names.contains(range.tensor)) << range.tensor;

  Names refused;
  for (const std::string& format : artefact_formats().names()) {
    try {
      for (const DeployFile& file : artefact_formats().get(format).write(deployed))
        EXPECT_FALSE(file.content.empty()) << format;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::Unsupported) << e.what();
      EXPECT_THAT(e.what(), testing::StartsWith("format '" + format + "': "));
      refused.insert(format);
    }
  }
  EXPECT_EQ(refused, GetParam().refused);
}

const Names kNotSymmetricPerChannel = {"nnie", "onnx_qoperator", "stpu_minmax", "tengine_scale",
                                       "vitis"};
const Names kNotAffine = {"clip_ranges", "ncnn_table",     "nnie", "onnx_qoperator",
                          "stpu_minmax", "tensorrt_cache", "vitis"};

INSTANTIATE_TEST_SUITE_P(
    All, ZooFormats,
    testing::Values(Case{"resnet20", symmetric_config(), kNotSymmetricPerChannel},
                    Case{"yolo", affine_config(), kNotAffine},
                    Case{"deit_tiny", power_of_two_config(), {"onnx_qoperator", "tengine_scale"}},
                    Case{"bert", symmetric_config(), kNotSymmetricPerChannel}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace sparsebit::deploy::test::zoo_formats_test
