// Code that queries devices, gradients, element types and identity.

#include "core/temp_dir.h"
#include "frontends/torchscript/reference.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace sparsebit::frontends::testing::environment_queries_test {
namespace {

using ::testing::HasSubstr;

/// The shapes of the inputs described in the file, by argument name.
TorchScriptOptions with_shapes(const Reference& reference) {
  TorchScriptOptions options;
  const auto& arguments = reference.module.get_method("forward").function().getSchema().arguments();
  for (size_t i = 0; i < reference.inputs.size(); ++i)
    options.shapes[arguments.at(i + 1).name()] = {reference.inputs[i].sizes().vec(), at::kFloat};
  return options;
}

class EveryModelDecidedByShapes : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryModelDecidedByShapes, RunsLikeLibtorch) {
  const std::filesystem::path path = fixture(GetParam());
  const at::NoGradGuard no_grad;  // libtorch takes its fast paths, the graph does not
  Reference reference = load_reference(path);
  const TorchScriptModel imported = import_torchscript(path, with_shapes(reference));
  const fx::Value result = imported.module->invoke(as_values(reference.inputs));
  EXPECT_LE(difference(result, reference.run()), 1e-5);
  for (const fx::Node& node : imported.module->graph().nodes())
    EXPECT_THAT(node.target(), ::testing::Not(HasSubstr("torch.ops."))) << node.name();
}

TEST_P(EveryModelDecidedByShapes, AsksForThem) {
  EXPECT_THAT(import_error(fixture(GetParam())),
              HasSubstr("depends on the sizes of the inputs; give the input shapes (--shape "));
}

INSTANTIATE_TEST_SUITE_P(TorchScript, EveryModelDecidedByShapes,
                         ::testing::Values("encoder", "encoder.norm_first", "encoder.frozen",
                                           "self_attention.frozen", "cross_attention.frozen",
                                           "instance_norm1d.frozen", "instance_norm2d.frozen"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

class TorchScriptQuestions : public ::testing::Test {
 protected:
  /// A model that returns x + 1 if `condition` holds and x + 2 otherwise.
  std::string asking(const std::string& condition, const std::string& first = "") {
    return scripted(folder_.path(), "def forward(self, x, y):\n  " + first + "\n  if " + condition +
                                        ":\n    return x + 1\n  return x + 2\n");
  }
  /// Whether the imported graph takes the branch for a true condition.
  bool answer(const std::string& path, const TorchScriptOptions& options = {}) {
    const TorchScriptModel imported = import_torchscript(path, options);
    const std::vector<fx::Value> inputs = {at::zeros({1, 2, 3}), at::zeros({1})};
    return imported.module->invoke(inputs).tensor().flatten()[0].item<float>() == 1;
  }

  test::TempDir folder_;
};

TEST_F(TorchScriptQuestions, HaveAnswers) {
  const std::vector<std::pair<const char*, bool>> cases = {
      {"x.is_cuda", false},
      {"'cpu' in str(x.device)", true},
      {"x.device == y.device", true},
      {"x.device.type == 'cuda'", false},
      {"torch.is_grad_enabled() and x.requires_grad", true},
      {"x is x", true},
      {"x is y", false},
      {"x is not y", true},
      {"(x + 1) is x", false},
  };
  for (const auto& [condition, expected] : cases)
    EXPECT_EQ(answer(asking(condition, "z = x")), expected) << condition;
}

TEST_F(TorchScriptQuestions, AboutElementTypesFollowFromTheInputs) {
  const TorchScriptOptions options = {.shapes = {{"x", {{1, 2, 3}, at::kFloat}}}};
  EXPECT_TRUE(answer(asking("x.dtype == 6", "z = x"), options));  // float32
  EXPECT_FALSE(answer(asking("x.dtype == 7", "z = x"), options));
  EXPECT_TRUE(answer(asking("x.dtype != 7", "z = x"), options));
  EXPECT_THAT(import_error(asking("x.dtype == 6", "z = x")), HasSubstr("--shape"));
}

TEST_F(TorchScriptQuestions, AboutIdentityKnowWhatReturnsItsInput) {
  EXPECT_TRUE(answer(asking("z is w", "w = x * 1\n  z = w.relu_()")));
  EXPECT_THAT(import_error(asking("z is x", "z = x.contiguous()")),
              HasSubstr("an if depends on data"));
}

TEST_F(TorchScriptQuestions, AboutDevicesLeaveThemOpenElsewhere) {
  const TorchScriptModel imported = import_torchscript(scripted(
      folder_.path(), "def forward(self, x):\n  return x + torch.zeros([3], device=x.device)\n"));
  EXPECT_EQ(count_nodes(*imported.module, fx::Opcode::CallFunction, "getattr"), 1u);
}

TEST_F(TorchScriptQuestions, AboutRangesFollowFromSizes) {
  const std::string path = scripted(folder_.path(),
                                    "def forward(self, x):\n"
                                    "  for i in range(1, x.dim() * 2, 2):\n"
                                    "    x = x * 3 + i\n"
                                    "  for i in range(x.size(1), 3):\n"
                                    "    x = x * 5 + i\n"
                                    "  return x\n");
  for (const std::vector<int64_t>& shape :
       std::vector<std::vector<int64_t>>{{2, 1, 2}, {1, 7}, {1, 2}}) {
    const TorchScriptModel imported =
        import_torchscript(path, {.shapes = {{"x", {shape, at::kFloat}}}});
    Reference reference = load_reference(path);
    reference.inputs = {at::ones(shape)};
    EXPECT_EQ(difference(imported.module->invoke(as_values(reference.inputs)), reference.run()), 0);
  }
}

TEST_F(TorchScriptQuestions, AboutTheLengthOfSumsOfLists) {
  const std::string path = scripted(folder_.path(),
                                    "def forward(self, x):\n"
                                    "  return torch.cat([x * 2] + x.chunk(4, 0), 0)\n");
  Reference reference = load_reference(path);
  reference.inputs = {at::rand({3, 2})};  // three chunks, not four
  for (const TorchScriptOptions& options :
       {TorchScriptOptions{}, TorchScriptOptions{.shapes = {{"x", {{3, 2}, at::kFloat}}}}}) {
    const TorchScriptModel imported = import_torchscript(path, options);
    EXPECT_EQ(difference(imported.module->invoke(as_values(reference.inputs)), reference.run()), 0);
  }
}

}  // namespace
}  // namespace sparsebit::frontends::testing::environment_queries_test
