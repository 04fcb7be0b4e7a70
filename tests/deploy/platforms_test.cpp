// Every platform deploys every kind of network of the zoo.

#include "core/temp_dir.h"
#include "deploy/formats/stpu_minmax.h"
#include "deploy/formats/tengine_scale.h"

#include "sparsebit/deploy/artefact_format.h"
#include "sparsebit/deploy/deploy.h"
#include "sparsebit/deploy/prepare.h"
#include "sparsebit/nn/layers.h"
#include "sparsebit/zoo/bert.h"
#include "sparsebit/zoo/deit.h"
#include "sparsebit/zoo/resnet.h"
#include "sparsebit/zoo/zoo.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::deploy::platforms_test {
namespace {

/// Small images, few channels and transformers of two layers, which cover all formats' cases.
std::vector<std::pair<std::string, zoo::Example>> networks() {
  const at::Tensor tokens = at::ones({1, 8}, at::kLong);
  const auto image = [](int64_t size) {
    return at::randn({1, 3, size, size}, at::detail::createCPUGenerator(1));
  };
  std::vector<std::pair<std::string, zoo::Example>> all;
  all.push_back({"resnet18", {zoo::resnet({.width = 8, .num_classes = 10}), {image(64)}}});
  all.push_back({"yolo", zoo::make("yolo")});
  all.push_back({"bert",
                 {zoo::bert({.vocab_size = 50,
                             .hidden_size = 32,
                             .num_layers = 2,
                             .num_heads = 4,
                             .intermediate_size = 64,
                             .max_positions = 16}),
                  {tokens, tokens, tokens}}});
  all.push_back({"deit", {zoo::deit({.image_size = 64, .depth = 2}), {image(64)}}});
  for (auto& [name, example] : all) {
    if (name != "yolo") nn::reset_parameters(*example.model, 1);
    example.model->eval();
  }
  return all;
}

TEST(Platforms, EveryOneDeploysEveryNetwork) {
  const at::NoGradGuard no_gradients;
  const sparsebit::test::TempDir dir;
  for (const auto& [network, example] : networks()) {
    for (const std::string& platform : platforms::platforms().names()) {
      SCOPED_TRACE(network + " for " + platform);
      quant::QuantModel model = prepare_by_platform(*example.model, platform, {}, example.inputs);
      model.prepare_calibration();
      model.forward(example.inputs);
      model.calc_qparams();
      const auto folder = dir / (network + "_" + platform);
      const auto files = deploy(model, model.platform().artefacts, folder, "net", platform);
      EXPECT_GT(files.size(), model.platform().artefacts.size());
      for (const auto& file : files) EXPECT_GT(std::filesystem::file_size(file), 0u) << file;
    }
  }
}

/// A convolution fused with a relu6, and relus that feed a concatenation, have the same range in
/// all entries of a file.
TEST(Platforms, FilesDoNotContradictThemselves) {
  const at::NoGradGuard no_gradients;
  const auto written = [](const std::string& network, const std::string& platform,
                          const std::string& format) {
    const zoo::Example example = zoo::make(network);
    example.model->eval();
    const at::Tensor x = at::randn({1, 3, 64, 64}, at::detail::createCPUGenerator(1));
    quant::QuantModel model = prepare_by_platform(*example.model, platform, {}, {x});
    model.prepare_calibration();
    model.forward({x});
    model.calc_qparams();
    const DeployModel deployed(model);
    return artefact_formats().get(format).write(deployed).front().content;
  };
  const auto tengine = read_tengine_scale(written("mobilenet_v2", "tengine_u8", "tengine_scale"));
  EXPECT_GT(tengine.size(), 50u);
  const StpuRanges stpu = read_stpu_minmax(written("squeezenet1_1", "stpu", "stpu_minmax"));
  int relus = 0;
  for (const auto& [name, range] : stpu.tensors) {
    const std::string after = name + "_activation";
    if (const auto it = stpu.tensors.find(after); it != stpu.tensors.end()) {
      EXPECT_EQ(range.max, it->second.max) << name;
      ++relus;
    }
  }
  EXPECT_EQ(relus, 24);  // three in each of eight blocks
}

/// Platform descriptions refer to existing operators and formats only.
TEST(Platforms, DescriptionsAreConsistent) {
  for (const std::string& name : platforms::platforms().names()) {
    SCOPED_TRACE(name);
    const platforms::Platform& platform = *platforms::platforms().get(name);
    EXPECT_EQ(platform.name, name);
    EXPECT_FALSE(platform.summary.empty());
    EXPECT_FALSE(platform.artefacts.empty());
    for (const std::string& format : platform.artefacts)
      EXPECT_TRUE(artefact_formats().contains(format)) << format;
    for (const auto& [op, rule] : platform.operators) {
      const fx::Operator* known = fx::operators().find_operator(op);
      ASSERT_TRUE(known) << op;
      for (const std::string& input : rule.inputs)
        EXPECT_TRUE(known->schema.find(input)) << op << " " << input;
      for (const auto& condition : rule.conditions)
        EXPECT_TRUE(known->schema.find(condition.argument)) << op << " " << condition.argument;
      const bool has_weight =
          rule.form == platforms::IntegerForm::Layer || rule.form == platforms::IntegerForm::Lookup;
      EXPECT_EQ(has_weight, known->weight.has_value()) << op;
    }
    for (const auto& limits : {platform.weights, platform.activations}) {
      for (const std::string& scheme : limits.schemes)
        EXPECT_NO_THROW(quant::scheme_from_text(scheme));
    }
    const quant::QConfig config = quant::default_qconfig(platforms::platforms().get(name));
    EXPECT_EQ(config.platform->name, name);
    EXPECT_EQ(quant::parse_qconfig(parse_yaml(platform.config, name)).platform->name, name);
  }
}

}  // namespace
}  // namespace sparsebit::deploy::platforms_test
