// Operators whose names in ATen differ from the vocabulary, as tracing writes them.

#include "core/temp_dir.h"
#include "frontends/torchscript/reference.h"
#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::frontends::testing::aten_test {
namespace {

struct Case {
  const char* name;
  const char* body;  ///< of forward(self, x), x is 2x3x4x4
};

class AtenSpelling : public ::testing::TestWithParam<Case> {};

TEST_P(AtenSpelling, RunsLikeLibtorch) {
  const test::TempDir folder;
  const std::string path =
      scripted(folder.path(), std::string("def forward(self, x):\n  ") + GetParam().body + "\n");
  Reference reference = load_reference(path);
  reference.inputs = {at::arange(96, at::kFloat).reshape({2, 3, 4, 4}).sin()};
  const TorchScriptModel imported = import_torchscript(path);
  EXPECT_LE(difference(imported.module->invoke(as_values(reference.inputs)), reference.run()),
            1e-6);
}

const Case kCases[] = {
    {"GridSampler", "return torch.grid_sampler(x, x[:, 0:2].permute(0, 2, 3, 1), 0, 1, True)"},
    {"GridSamplerNearest",
     "return torch.grid_sampler(x, x[:, 0:2].permute(0, 2, 3, 1), 1, 2, False)"},
    {"AffineGrid", "return torch.affine_grid_generator(x[:, 0, 0:2, 0:3], [2, 3, 5, 6], True)"},
    {"FrobeniusNorm", "return torch.frobenius_norm(x, [2, 3], True)"},
    {"FrobeniusNormOfAll", "return torch.frobenius_norm(x, [0, 1], False)"},
    {"NonzeroNumpy", "return torch.nonzero_numpy(x > 0)[1]"},
    {"Distances", "return torch.cdist(x[0], x[1], 2.0, None)"},
    {"DistancesWithoutProducts", "return torch.cdist(x[0], x[1], 1.0, 2)"},
    {"IsNested", "return x + 1 if x.is_nested else x - 1"},
};
INSTANTIATE_TEST_SUITE_P(TorchScript, AtenSpelling, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(TorchScriptRecurrent, SizesThatDoNotBelongTogetherNameTheNode) {
  const test::TempDir folder;
  for (const char* layers : {"-1", "0", "9223372036854775807"}) {
    const std::string path =
        scripted(folder.path(),
                 std::string("def forward(self, x, w, r):\n"
                             "  y, h = torch.gru(x, torch.zeros([1, 2, 4]), [w, r], False, ") +
                     layers + ", 0.0, False, False, False)\n  return y\n");
    const TorchScriptModel imported = import_torchscript(path);
    EXPECT_THAT(
        [&] {
          imported.module->invoke(
              as_values({at::ones({3, 2, 5}), at::ones({12, 5}), at::ones({12, 4})}));
        },
        ::testing::ThrowsMessage<Error>(::testing::AllOf(
            ::testing::HasSubstr(std::string("num_layers is ") + layers + ", but flat_weights"),
            ::testing::HasSubstr("at node 'gru'"))));
  }
}

TEST(TorchScriptInputs, ATupleIsOneInputPerTensor) {
  const test::TempDir folder;
  const std::string path = scripted(folder.path(),
                                    "def forward(self, p: Tuple[Tensor, Tensor], q: Tensor):\n"
                                    "  return p[0] * 2 + p[1] - q\n");
  const TorchScriptModel imported = import_torchscript(path);
  std::vector<std::string> names;
  for (const fx::Node* node : imported.module->graph().placeholders())
    names.push_back(node->target());
  EXPECT_THAT(names, ::testing::ElementsAre("p_0", "p_1", "q"));
  const fx::Value result = imported.module->invoke(
      as_values({at::full({2}, 3.0), at::full({2}, 4.0), at::full({2}, 5.0)}));
  EXPECT_TRUE(at::equal(result.tensor(), at::full({2}, 5.0)));
}

TEST(TorchScriptInputs, AListIsAnError) {
  const test::TempDir folder;
  const std::string path =
      scripted(folder.path(), "def forward(self, x: List[Tensor]):\n  return x[0]\n");
  EXPECT_EQ(import_error(path),
            path +
                ": the input 'x' is a List[Tensor], and only tensors, numbers and tuples of them "
                "can be inputs; wrap the model into one that takes tensors");
}

}  // namespace
}  // namespace sparsebit::frontends::testing::aten_test
