#include "frontends/torchscript/reference.h"
#include "sparsebit/fx/lint.h"
#include "sparsebit/fx/printer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::frontends::testing {
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
                      "attention.traced", "recurrent.scripted", "recurrent.traced",
                      "functions.scripted", "functions.traced", "containers.scripted",
                      "containers.traced", "branches.scripted", "branches.traced",
                      "layers.scripted", "layers.traced"),
    [](const auto& info) {
      std::string name = info.param;
      std::replace(name.begin(), name.end(), '.', '_');
      return name;
    });

}  // namespace
}  // namespace sparsebit::frontends::testing
