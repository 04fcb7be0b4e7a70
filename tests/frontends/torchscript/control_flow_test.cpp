#include "core/temp_dir.h"
#include "frontends/torchscript/reference.h"
#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::frontends::testing::control_flow_test {
namespace {

TEST(TorchScriptControlFlow, IsResolved) {
  const TorchScriptModel imported = import_torchscript(fixture("branches.scripted"));
  // the loop is unrolled, the check of the shape is removed
  EXPECT_EQ(count_nodes(*imported.module, fx::Opcode::CallModule, "line"), 2u);
  EXPECT_EQ(count_nodes(*imported.module, fx::Opcode::CallMethod, "dim"), 0u);
  // inputs that decide a branch are removed as well: they are fixed at their defaults
  EXPECT_EQ(imported.module->forward_schema().to_string(), "x");
}

TEST(TorchScriptControlFlow, GivenInputsStayInputs) {
  const TorchScriptModel imported =
      import_torchscript(fixture("branches.scripted"), {.given_inputs = {"mask"}});
  EXPECT_EQ(imported.module->forward_schema().to_string(), "x, mask");
  Reference reference = load_reference(fixture("branches.scripted"));
  reference.inputs.push_back(at::rand({3, 4}));
  EXPECT_EQ(difference(imported.module->invoke(as_values(reference.inputs)), reference.run()), 0);
}

TEST(TorchScriptControlFlow, GivenInputsHaveToExist) {
  EXPECT_EQ(import_error(fixture("branches.scripted"), {.given_inputs = {"masc"}}),
            "the model has no input 'masc'; did you mean 'mask'?");
}

TEST(TorchScriptControlFlow, AFlagThatIsGivenIsUnknown) {
  EXPECT_EQ(
      import_error(fixture("branches.scripted"), {.given_inputs = {"twice"}}),
      fixture("branches.scripted").string() +
          ": the model itself (make_torchscript_fixtures.py:159): an if depends on data, which "
          "is known only when the model runs; trace the model instead");
}

TEST(TorchScriptControlFlow, ThatDependsOnDataIsAnErrorWithModuleAndLine) {
  const std::string path = fixture("data_dependent").string();
  EXPECT_EQ(
      import_error(path),
      path +
          ": module 'inner' (make_torchscript_fixtures.py:178): an if depends on data, which "
          "is known only when the model runs; trace the model instead, or keep that module as "
          "one opaque node when you inspect or run it (--skip 'inner')");
  try {
    import_torchscript(path);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::DataDependent);
  }
}

TEST(TorchScriptControlFlow, AttributesThatChangeAreAnError) {
  const std::string path = fixture("stateful").string();
  EXPECT_EQ(import_error(path), path +
                                    ": the model itself: the model assigns its attribute 'count' "
                                    "while it runs, which a graph cannot represent");
}

TEST(TorchScriptControlFlow, GrowingListsAndDictsAreResolved) {
  const TorchScriptModel imported = import_torchscript(fixture("containers.scripted"));
  const Reference reference = load_reference(fixture("containers.scripted"));
  const fx::Value result = imported.module->invoke(as_values(reference.inputs));
  ASSERT_TRUE(result.is<fx::Dict>());
  std::vector<std::string> keys;
  for (const auto& [key, value] : result.get<fx::Dict>().items) keys.push_back(key);
  EXPECT_THAT(keys, ::testing::ElementsAre("first", "second", "third", "all"));
}

/// torchvision's feature pyramids build their result like this.
TEST(TorchScriptControlFlow, DictsAreMadeOfPairs) {
  const test::TempDir folder;
  const std::string path = (folder.path() / "pairs.pt").string();
  torch::jit::Module module("Pairs");
  module.define("def forward(self, x):\n  return dict([('a', x), ('b', x + 1), ('a', x + 2)])\n");
  module.save(path);
  const TorchScriptModel imported = import_torchscript(path);
  const fx::Value result = imported.module->invoke(std::vector<fx::Value>{at::ones({1})});
  ASSERT_TRUE(result.is<fx::Dict>());
  ASSERT_EQ(result.get<fx::Dict>().items.size(), 2u);
  EXPECT_EQ(result.get<fx::Dict>().find("a")->tensor().item<float>(), 3);
  EXPECT_EQ(result.get<fx::Dict>().find("b")->tensor().item<float>(), 2);
}

TEST(TorchScriptControlFlow, ListsOfEndlessLengthAreErrors) {
  const test::TempDir folder;
  const std::string path = (folder.path() / "long.pt").string();
  torch::jit::Module module("Long");
  module.define("def forward(self, x):\n  return torch.reshape(x, [1, 2] * 10000000000)\n");
  module.save(path);
  EXPECT_THAT(import_error(path), ::testing::HasSubstr("a list of 2 items, 10000000000 times"));
}

}  // namespace
}  // namespace sparsebit::frontends::testing::control_flow_test
