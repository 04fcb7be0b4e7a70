#include "frontends/torchscript/reference.h"
#include "sparsebit/fx/lint.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::frontends::testing::import_test {
namespace {

class EveryFixture : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryFixture, RunsLikeLibtorch) { EXPECT_LE(import_difference(fixture(GetParam())), 1e-6); }

TEST_P(EveryFixture, IsWellFormed) {
  const TorchScriptModel imported = import_torchscript(fixture(GetParam()));
  fx::lint(imported.module->graph(), *imported.module);
}

INSTANTIATE_TEST_SUITE_P(
    TorchScript, EveryFixture,
    ::testing::Values("convnet.scripted", "convnet.traced", "convnet.train.scripted",
                      "convnet.train.traced", "residual.scripted", "residual.traced",
                      "residual.train.scripted", "residual.train.traced", "attention.scripted",
                      "attention.traced", "attention.fast.traced", "recurrent.scripted",
                      "recurrent.traced", "functions.scripted", "functions.traced",
                      "containers.scripted", "containers.traced", "branches.scripted",
                      "branches.traced", "layers.scripted", "layers.traced"),
    [](const auto& info) {
      std::string name = info.param;
      std::replace(name.begin(), name.end(), '.', '_');
      return name;
    });

struct Layer {
  const char* path;
  const char* text;
};

/// Attributes equal those of the original layers, whichever part of the file they come from.
TEST(TorchScriptLeaves, HaveTheirAttributes) {
  const std::vector<Layer> layers = {
      {"conv1",
       "torch.nn.Conv2d(in_channels=3, out_channels=4, kernel_size=[3, 3], stride=1, "
       "padding='same', dilation=1, groups=1, padding_mode='zeros', bias=None)"},
      {"conv2",
       "torch.nn.Conv2d(in_channels=4, out_channels=8, kernel_size=[3, 3], stride=[2, 2], "
       "padding=[1, 1], dilation=1, groups=2, padding_mode='reflect')"},
      {"deconv",
       "torch.nn.ConvTranspose2d(in_channels=8, out_channels=4, kernel_size=[2, 2], stride=[2, 2], "
       "padding=0, output_padding=0, groups=1, dilation=1, padding_mode='zeros')"},
      {"bn1",
       "torch.nn.BatchNorm2d(num_features=4, eps=1e-05, momentum=0.1, affine=True, "
       "track_running_stats=True)"},
      {"relu", "torch.nn.ReLU(inplace=True)"},
      {"norm", "torch.nn.GroupNorm(num_groups=2, num_channels=8, eps=1e-05, affine=True)"},
      {"up",
       "torch.nn.Upsample(size=None, scale_factor=[2.0, 2.0], mode='bilinear', "
       "align_corners=False, recompute_scale_factor=None)"},
      {"head.1", "torch.nn.Dropout(p=0.25, inplace=False)"},
      {"head.2", "torch.nn.Linear(in_features=4, out_features=5)"},
  };
  const TorchScriptModel traced = import_torchscript(fixture("convnet.traced"));
  for (const Layer& layer : layers)
    EXPECT_EQ(traced.module->find_module(layer.path)->describe(), layer.text);
  const TorchScriptModel scripted = import_torchscript(fixture("convnet.scripted"));
  for (const Layer& layer : layers) {
    const fx::ModulePtr ours = scripted.module->find_module(layer.path);
    EXPECT_EQ(ours->type(), traced.module->find_module(layer.path)->type());
  }
  EXPECT_EQ(scripted.module->find_module("conv2")->attribute("padding_mode").string(), "reflect");
  EXPECT_EQ(scripted.module->find_module("conv2")->attribute("stride").ints(),
            (std::vector<int64_t>{2, 2}));
}

TEST(TorchScriptLeaves, AreTheSameInBothKindsOfFile) {
  const auto targets = [](const char* file) {
    std::vector<std::string> result;
    const TorchScriptModel imported = import_torchscript(fixture(file));
    for (const fx::Node& node : imported.module->graph().nodes())
      result.push_back(std::string(to_string(node.op())) + " " + node.target());
    return result;
  };
  EXPECT_EQ(targets("convnet.traced"), targets("convnet.scripted"));
  EXPECT_EQ(targets("residual.traced"), targets("residual.scripted"));
}

TEST(TorchScriptModel, HasTheNameOfItsClass) {
  EXPECT_EQ(import_torchscript(fixture("convnet.traced")).module->type(), "ConvNet");
  EXPECT_EQ(import_torchscript(fixture("convnet.scripted")).module->type(), "ConvNet");
}

TEST(TorchScriptModel, KeepsWhatIsShared) {
  for (const char* file : {"residual.traced", "residual.scripted"}) {
    const TorchScriptModel imported = import_torchscript(fixture(file));
    const fx::GraphModule& module = *imported.module;
    EXPECT_EQ(count_nodes(module, fx::Opcode::CallModule, "block.0"), 2u) << file;
    const at::Tensor* tied = module.find_tensor("tied.weight");
    ASSERT_TRUE(tied) << file;
    EXPECT_TRUE(tied->is_same(*module.find_tensor("block.0.weight"))) << file;
    EXPECT_FALSE(module.find_module("again")) << file;
  }
}

TEST(TorchScriptModel, NodesKnowTheirModule) {
  const TorchScriptModel imported = import_torchscript(fixture("layers.traced"));
  size_t seen = 0;
  for (const fx::Node& node : imported.module->graph().nodes()) {
    if (node.target() != "torch.pow") continue;
    EXPECT_EQ(node.module_path(), "first.6");  // local response norm, which is inlined
    ++seen;
  }
  EXPECT_EQ(seen, 1u);
}

TEST(TorchScriptLeaves, AttentionIsOneToo) {
  for (const char* file : {"attention.scripted", "attention.traced", "attention.fast.traced"}) {
    const TorchScriptModel imported = import_torchscript(fixture(file));
    const fx::ModulePtr attention = imported.module->find_module("attention");
    ASSERT_EQ(attention->type(), "torch.nn.MultiheadAttention") << file;
    EXPECT_EQ(attention->attribute("num_heads").to_int(), 2) << file;
    EXPECT_TRUE(attention->attribute("batch_first").to_bool()) << file;
  }
}

}  // namespace
}  // namespace sparsebit::frontends::testing::import_test
