#include "frontends/torchscript/reference.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::frontends::testing::skip_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TorchScriptSkip, KeepsAModuleAsOneStepThatRuns) {
  for (const char* file : {"convnet.scripted", "convnet.traced"}) {
    const TorchScriptModel imported = import_torchscript(fixture(file), {.skip = {"pool", "he*"}});
    EXPECT_THAT(imported.unmatched_patterns, IsEmpty());
    EXPECT_EQ(count_nodes(*imported.module, fx::Opcode::CallModule, "pool"), 1u);
    EXPECT_EQ(count_nodes(*imported.module, fx::Opcode::CallModule, "head"), 1u);
    EXPECT_EQ(count_nodes(*imported.module, fx::Opcode::CallModule, "head.2"), 0u);
    EXPECT_EQ(imported.module->find_module("head")->type(), "Sequential");
    EXPECT_LE(import_difference(fixture(file), {.skip = {"pool", "he*"}}), 1e-6);
  }
}

TEST(TorchScriptSkip, ReportsPatternsThatMatchNothing) {
  const TorchScriptModel imported =
      import_torchscript(fixture("convnet.scripted"), {.skip = {"pool", "neck*", "conv1"}});
  EXPECT_THAT(imported.unmatched_patterns, ElementsAre("neck*"));
}

TEST(TorchScriptSkip, HidesControlFlowThatDependsOnData) {
  EXPECT_EQ(import_difference(fixture("data_dependent"), {.skip = {"inner"}}), 0);
}

TEST(TorchScriptSkip, LeavesParametersOfTheStepInTheModel) {
  const TorchScriptModel imported =
      import_torchscript(fixture("convnet.scripted"), {.skip = {"head"}});
  const Reference reference = load_reference(fixture("convnet.scripted"));
  const at::Tensor* weight = imported.module->find_tensor("head.2.weight");
  ASSERT_TRUE(weight);
  EXPECT_TRUE(weight->requires_grad());
  tensors_in(imported.module->invoke(as_values(reference.inputs)))[0].sum().backward();
  EXPECT_TRUE(weight->grad().defined());
  at::Tensor changed = weight->detach().clone().zero_();
  imported.module->set_tensor("head.2.weight", changed);
  const at::Tensor out = imported.module->invoke(as_values(reference.inputs)).tensor();
  EXPECT_TRUE(at::equal(out[0], out[1]));  // only the bias is left
}

TEST(TorchScriptSkip, ACopyOfTheModelHasAStepOfItsOwn) {
  const TorchScriptModel imported =
      import_torchscript(fixture("convnet.scripted"), {.skip = {"head"}});
  Reference reference = load_reference(fixture("convnet.scripted"));
  const auto copy = imported.module->clone_graph_module();
  {
    const at::NoGradGuard no_grad;
    at::Tensor(*copy->find_tensor("head.2.weight")).zero_();
  }
  EXPECT_LE(difference(imported.module->invoke(as_values(reference.inputs)), reference.run()),
            1e-6);
  EXPECT_GT(difference(copy->invoke(as_values(reference.inputs)), reference.run()), 1e-3);
}

}  // namespace
}  // namespace sparsebit::frontends::testing::skip_test
