// Models that are not in the repository, from the folder SPARSEBIT_DATA.

#include "frontends/torchscript/reference.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

namespace sparsebit::frontends::testing::real_model_test {
namespace {

struct RealModel {
  const char* file;
  std::vector<int64_t> shape;
  int64_t tokens;  // 0: an image
};

class EveryRealModel : public ::testing::TestWithParam<RealModel> {};

TEST_P(EveryRealModel, RunsLikeLibtorch) {
  const char* data = std::getenv("SPARSEBIT_DATA");
  if (!data) GTEST_SKIP() << "SPARSEBIT_DATA is not set; it names the folder with models/";
  const std::filesystem::path path = std::filesystem::path(data) / "models" / GetParam().file;
  const at::NoGradGuard no_grad;
  Reference reference = load_reference(path);
  reference.inputs = {GetParam().tokens
                          ? at::randint(GetParam().tokens, GetParam().shape, at::kLong)
                          : at::randn(GetParam().shape)};
  const TorchScriptModel imported = import_torchscript(path);
  const fx::Value result = imported.module->invoke(as_values(reference.inputs));
  EXPECT_LE(difference(result, reference.run()), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(
    TorchScript, EveryRealModel,
    ::testing::Values(RealModel{"cifar10/resnet20_cifar10.traced.pt", {4, 3, 32, 32}, 0},
                      RealModel{"cifar10/resnet20_cifar10.scripted.pt", {4, 3, 32, 32}, 0},
                      RealModel{"torchscript/squeezenet1.1.traced.pt", {1, 3, 224, 224}, 0},
                      RealModel{"llm/stories260K.torchscript.pt", {1, 16}, 512}),
    [](const auto& info) {
      std::string name = std::filesystem::path(info.param.file).stem();
      std::replace_if(
          name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
      return name;
    });

}  // namespace
}  // namespace sparsebit::frontends::testing::real_model_test
