// Models with branches that depend on the sizes of their inputs.

#include "core/temp_dir.h"
#include "frontends/torchscript/reference.h"
#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace sparsebit::frontends::testing::example_sizes_test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

/// As in Swin: pads, and shifts only if there is more than one window.
constexpr const char* kWindows = R"(
def forward(self, x):
    y = torch.relu(x)
    pad = (4 - y.size(1) % 4) % 4
    if pad > 0:
        y = torch.constant_pad_nd(y, [0, pad])
    if y.numel() > 8:
        y = torch.roll(y, 1, 1)
    for i in range(y.size(0)):
        y = y + i
    return y
)";

TorchScriptOptions shaped(std::vector<int64_t> shape, const char* name = "x") {
  return {.shapes = {{name, {std::move(shape), at::kFloat}}}};
}

class ExampleSizes : public ::testing::Test {
 protected:
  /// The difference between the imported graph and libtorch, on an input of this shape.
  double difference_for(const std::string& path, const std::vector<int64_t>& shape) {
    const TorchScriptModel imported = import_torchscript(path, shaped(shape));
    Reference reference = load_reference(path);
    reference.inputs = {at::randn(shape)};
    return difference(imported.module->invoke(as_values(reference.inputs)), reference.run());
  }

  test::TempDir folder_;
};

TEST_F(ExampleSizes, ThatDependOnDataDecideNothing) {
  const std::string path = scripted(folder_.path(),
                                    "def forward(self, x):\n"
                                    "  h = torch.one_hot(x, -1)\n"
                                    "  if h.size(-1) > 3:\n"
                                    "    return h.sum() + 1\n"
                                    "  return h.sum()\n");
  EXPECT_THAT(import_error(path, {.shapes = {{"x", {{3}, at::kLong}}}}),
              HasSubstr("an if depends on sizes that do not follow from the given shapes"));
}

TEST_F(ExampleSizes, Decide) {
  const std::string path = scripted(folder_.path(), kWindows);
  for (const std::vector<int64_t>& shape :
       std::vector<std::vector<int64_t>>{{2, 4}, {2, 5}, {3, 8}, {1, 3}, {0, 4}}) {
    EXPECT_EQ(difference_for(path, shape), 0) << at::IntArrayRef(shape);
  }
  const TorchScriptModel small = import_torchscript(path, shaped({2, 4}));
  EXPECT_EQ(count_nodes(*small.module, fx::Opcode::CallFunction, "torch.roll"), 0u);
  EXPECT_EQ(small.size_decisions, 3);
  const TorchScriptModel large = import_torchscript(path, shaped({3, 8}));
  EXPECT_EQ(count_nodes(*large.module, fx::Opcode::CallFunction, "torch.roll"), 1u);
}

TEST_F(ExampleSizes, OfTheOnlyInputNeedNoName) {
  const std::string path = scripted(folder_.path(), kWindows);
  EXPECT_NO_THROW(import_torchscript(path, shaped({2, 4}, "")));
}

TEST_F(ExampleSizes, ThatDecideNothingStayOpen) {
  const std::string path = scripted(folder_.path(),
                                    "def forward(self, x):\n  if x.size(1) > 2:\n    x = x + 1\n  "
                                    "return x.reshape(x.size(0), -1)\n");
  const TorchScriptModel imported = import_torchscript(path, shaped({2, 3, 4}));
  const fx::Value result = imported.module->invoke(std::vector<fx::Value>{at::zeros({5, 3, 2})});
  EXPECT_EQ(result.tensor().sizes(), (std::vector<int64_t>{5, 6}));
}

TEST_F(ExampleSizes, ThatAreNotGivenAreAskedFor) {
  const std::string path = scripted(folder_.path(), kWindows);
  EXPECT_THAT(import_error(path),
              EndsWith("an if depends on the sizes of the inputs; give the input shapes (--shape "
                       "NAME=1x3x224x224), or trace the model instead"));
}

TEST_F(ExampleSizes, ThatAreNotGivenToAModuleAreAskedFor) {
  const std::string path = (folder_.path() / "outer.pt").string();
  torch::jit::Module inner("Inner"), outer("Outer");
  inner.define(kWindows);
  outer.register_module("inner", inner);
  outer.define("def forward(self, x):\n  return self.inner.forward(x)\n");
  outer.save(path);
  EXPECT_THAT(import_error(path),
              EndsWith("an if depends on the sizes of the inputs; give the input shapes (--shape "
                       "NAME=1x3x224x224), trace the model instead, or keep that module as one "
                       "opaque node when you inspect or run it (--skip 'inner')"));
}

TEST_F(ExampleSizes, ThatNoTensorHasDecideNothing) {
  const std::string path = scripted(folder_.path(), kWindows);
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(import_error(path, shaped({kHuge, kHuge})),
              HasSubstr("an if depends on sizes that do not follow from the given shapes"));
}

/// Elements of the example inputs are arbitrary, so no branch may depend on them.
TEST_F(ExampleSizes, AnswerNothingAboutData) {
  for (const char* condition : {"bool(x.sum() > 0)", "x.nonzero().size(0) > 1",
                                "x[x > 0].numel() > 1", "int(x.max()) + x.size(0) > 1",
                                "torch._unique2(x)[0].size(0) > 1", "x[0, 0].item() > 1.0"}) {
    const std::string path =
        scripted(folder_.path(), std::string("def forward(self, x):\n  if ") + condition +
                                     ":\n    x = x + 1\n  return x\n");
    EXPECT_THAT(import_error(path, shaped({2, 4})), HasSubstr("an if depends on")) << condition;
  }
}

TEST_F(ExampleSizes, LeaveTheModelAlone) {
  const std::filesystem::path path = fixture("convnet.train.scripted");
  const TorchScriptModel plain = import_torchscript(path);
  const TorchScriptModel shaped_one = import_torchscript(path, shaped({2, 3, 16, 16}, ""));
  const at::Tensor* before = plain.module->find_tensor("bn1.running_mean");
  const at::Tensor* after = shaped_one.module->find_tensor("bn1.running_mean");
  ASSERT_TRUE(before && after);
  EXPECT_TRUE(at::equal(*before, *after));
}

}  // namespace
}  // namespace sparsebit::frontends::testing::example_sizes_test
