#include "core/temp_dir.h"
#include "frontends/torchscript/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::frontends::testing::output_names_test {
namespace {

using Names = std::vector<std::string>;

struct NamesCase {
  const char* name;
  const char* code;
  Names expected;
};

class TorchScriptOutputNames : public ::testing::TestWithParam<NamesCase> {};

TEST_P(TorchScriptOutputNames, FollowTheResult) {
  const test::TempDir folder;
  const std::string path = scripted(folder.path(), GetParam().code);
  EXPECT_EQ(import_torchscript(path).module->output_names(), GetParam().expected);
}

const NamesCase kCases[] = {
    {"Tensor", "def forward(self, x):\n  return x + 1\n", {"output"}},
    {"Tuple", "def forward(self, x):\n  return x + 1, x\n", {"output_0", "output_1"}},
    {"List", "def forward(self, x):\n  return [x + 1, x]\n", {"output_0", "output_1"}},
    {"Dict", "def forward(self, x):\n  return {'a': x, 'b.c': x + 1}\n", {"a", "b.c"}},
    {"DictOfLists",
     "def forward(self, x):\n  return {'out': [x, x + 1], 'aux': [x]}\n",
     {"out.0", "out.1", "aux.0"}},
    {"TupleOfDicts",
     "def forward(self, x):\n  return x, {'boxes': x}\n",
     {"output_0", "output_1.boxes"}},
    {"NoneIsNoOutput",
     "def forward(self, x):\n  return x, None, x + 1\n",
     {"output_0", "output_2"}},
    {"InputsKeepTheirNames",
     "def forward(self, x):\n  return {'x': x + 1, 'y': x}\n",
     {"x_1", "y"}},
    {"EqualNamesAreToldApart",
     "def forward(self, x):\n  return {'a.0': [x], 'a': [x, x]}\n",
     {"a.0.0", "a.0", "a.1"}},
    {"EmptyKey", "def forward(self, x):\n  return {'': x}\n", {"output"}},
    {"Numbers", "def forward(self, x):\n  return x.size(0), 3\n", {"output_0", "output_1"}},
    {"OnlyRunningTells", "def forward(self, x):\n  return torch.split(x, 1)\n", {}},
};
INSTANTIATE_TEST_SUITE_P(Results, TorchScriptOutputNames, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sparsebit::frontends::testing::output_names_test
