// Operators of libraries that are not loaded.

#include "core/temp_dir.h"
#include "frontends/torchscript/reference.h"
#include "sparsebit/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::frontends::testing::foreign_operators_test {
namespace {

TEST(TorchScriptForeignOperators, StandInTheGraph) {
  const test::TempDir folder;
  const std::string plain =
      scripted(folder.path(), "def forward(self, x):\n  return torch.relu(x) + 1\n");
  const std::string path = with_code(plain, "torch.relu(x)", "ops.acme.relu(x, 0.5)");
  for (int i = 0; i < 2; ++i) {  // libtorch knows it the second time
    const TorchScriptModel imported = import_torchscript(path);
    ASSERT_EQ(count_nodes(*imported.module, fx::Opcode::CallFunction, "torch.ops.acme.relu"), 1u);
    for (const fx::Node& node : imported.module->graph().nodes()) {
      if (node.target() != "torch.ops.acme.relu") continue;
      EXPECT_EQ(node.args()[1].to_double(), 0.5);
    }
  }
}

TEST(TorchScriptForeignOperators, ThatGiveSeveralResultsAreKnownByName) {
  const test::TempDir folder;
  const std::string plain =
      scripted(folder.path(), "def forward(self, x):\n  a, b = torch.max(x, 0)\n  return a + b\n");
  const TorchScriptModel imported = import_torchscript(
      with_code(plain, "torch.max(x, 0)", "ops.torchvision.roi_pool(x, x, 1., 2, 2)"));
  EXPECT_EQ(
      count_nodes(*imported.module, fx::Opcode::CallFunction, "torch.ops.torchvision.roi_pool"),
      1u);
}

TEST(TorchScriptForeignOperators, ThatDoNotFitAreNamed) {
  const test::TempDir folder;
  const std::string plain =
      scripted(folder.path(), "def forward(self, x):\n  return torch.split(x, 1)\n");
  const std::string path = with_code(plain, "torch.split(x, 1)", "ops.acme.parts(x)");
  EXPECT_THAT(import_error(path),
              ::testing::MatchesRegex(
                  ".*: calls acme::parts, an unknown operator of another library, "
                  "and cannot be read without it \\([^\n]*\\); export the model to ONNX with that "
                  "library instead"));
}

}  // namespace
}  // namespace sparsebit::frontends::testing::foreign_operators_test
