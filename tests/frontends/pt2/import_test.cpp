#include "core/temp_dir.h"
#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/frontends/pt2.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/lint.h"
#include "sparsebit/io/npy.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::frontends::pt2_import_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::filesystem::path fixture(const std::string& name) {
  return std::filesystem::path(PT2_FIXTURES) / name;
}

void collect(const fx::Value& value, std::vector<at::Tensor>& tensors) {
  if (value.is_tensor()) tensors.push_back(value.tensor());
  if (value.is<fx::Dict>())
    for (const auto& [key, item] : value.get<fx::Dict>().items) collect(item, tensors);
  if (!value.is_sequence()) return;
  for (const fx::Value& item : value.items()) collect(item, tensors);
}

/// The arrays x0, x1, ... or y0, y1, ... of a fixture.
std::vector<at::Tensor> arrays(const std::string& name, const std::string& letter) {
  std::vector<at::Tensor> found;
  const auto all = io::load_npz(fixture(name + ".npz"));
  for (size_t i = 0;; ++i) {
    const auto it = std::find_if(all.begin(), all.end(), [&](const auto& entry) {
      return entry.key() == letter + std::to_string(i);
    });
    if (it == all.end()) return found;
    found.push_back(it->value());
  }
}

class EveryProgram : public testing::TestWithParam<const char*> {};

TEST_P(EveryProgram, ComputesWhatTorchDid) {
  const auto module = import_pt2(fixture(std::string(GetParam()) + ".pt2"));
  fx::lint(module->graph(), *module);
  const std::vector<at::Tensor> inputs = arrays(GetParam(), "x"),
                                expected = arrays(GetParam(), "y");
  std::vector<at::Tensor> found;
  fx::Interpreter interpreter(*module, fx::RunMode::Inference);
  collect(interpreter.run({inputs.begin(), inputs.end()}), found);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].scalar_type(), expected[i].scalar_type());
    const double tolerance = found[i].scalar_type() == at::kHalf ? 2e-3 : 1e-5;
    EXPECT_TRUE(at::allclose(found[i], expected[i], tolerance, tolerance)) << "result " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Pt2, EveryProgram,
                         testing::Values("convnet", "attention", "tokens", "functions", "recurrent",
                                         "half"));

TEST(Pt2Import, LayersStandAtTheirPaths) {
  const auto module = import_pt2(fixture("convnet.pt2"));
  std::vector<std::string> layers;
  for (const fx::Node& node : module->graph().nodes())
    if (node.op() == fx::Opcode::CallModule)
      layers.push_back(node.target() + " " + module->find(node.target())->type());
  EXPECT_THAT(layers, ElementsAre("stem.0 torch.nn.Conv2d", "stem.1 torch.nn.BatchNorm2d",
                                  "stem.2 torch.nn.ReLU", "block.conv torch.nn.Conv2d",
                                  "block.act torch.nn.SiLU", "pool torch.nn.AdaptiveAvgPool2d",
                                  "head torch.nn.Linear"));
}

/// Also in the form that torch 2.15 writes: Symbol('s77', positive=True, integer=True).
TEST(Pt2Import, OpenSizesHaveTheNamesOfTheirSymbols) {
  const auto module = import_pt2(fixture("convnet.pt2"));
  const fx::TensorInfo& info = *module->graph().placeholders()[0]->tensor_info();
  EXPECT_THAT(info.shape, ElementsAre(-1, 3, 8, 8));
  ASSERT_EQ(info.symbols.size(), 4u);
  EXPECT_THAT(info.symbols[0], testing::MatchesRegex("s[0-9]+"));
}

TEST(Pt2Import, SharedParametersStayShared) {
  const auto module = import_pt2(fixture("tokens.pt2"));
  EXPECT_TRUE(module->find_tensor("embed.weight")->is_same(*module->find_tensor("head.weight")));
}

TEST(Pt2Import, TrainingModeIsRefused) {
  EXPECT_THAT([] { import_pt2(fixture("training.pt2")); },
              ThrowsMessage<Error>(HasSubstr("needs model.eval() before torch.export.export")));
}

/// A damaged file gives an Error that names it, wherever the file is cut off or changed.
TEST(Pt2Import, DamagedFiles) {
  const std::string bytes = read_file(fixture("tokens.pt2"));
  const sparsebit::test::TempDir dir;
  const auto import = [&](const std::string& changed) {
    write_file_atomically(dir / "m.pt2", changed);
    try {
      import_pt2(dir / "m.pt2");
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), HasSubstr("m.pt2"));
    }
  };
  for (size_t size = 0; size < bytes.size(); size += 997) import(bytes.substr(0, size));
  for (size_t i = 0; i < bytes.size(); i += 131) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x15);
    import(changed);
  }
}

TEST(Pt2Import, TellsItsFilesFromOthers) {
  EXPECT_TRUE(looks_like_pt2(read_file(fixture("convnet.pt2"))));
  EXPECT_FALSE(looks_like_pt2(read_file(fixture("convnet.npz"))));
  EXPECT_FALSE(looks_like_pt2(""));
}

}  // namespace
}  // namespace sparsebit::frontends::pt2_import_test
