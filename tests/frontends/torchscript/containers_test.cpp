// Lists and dicts that are modified by the code: later reads see the modified contents.

#include "core/temp_dir.h"
#include "frontends/torchscript/reference.h"
#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/import.h>

namespace sparsebit::frontends::testing::containers_test {
namespace {

using ::testing::EndsWith;

struct ContainerCase {
  const char* name;
  const char* code;    ///< statements on a list `l` of [3, 1, 2], `f`, `s` or a dict `d`
  const char* result;  ///< a number
  double expected;
};

std::string whole(const char* code, const char* result) {
  return c10::str(
      "def forward(self, x):\n"
      "  l = [3, 1, 2]\n"
      "  f = [0.5, 2.5, -1.0]\n"
      "  s = ['pear', 'fig', 'apple']\n"
      "  d = {'a': 1, 'b': 2}\n",
      code, "  return x + (", result, ")\n");
}

class TorchScriptContainers : public ::testing::TestWithParam<ContainerCase> {};

TEST_P(TorchScriptContainers, ChangeAsInLibtorch) {
  const test::TempDir folder;
  const std::string path = scripted(folder.path(), whole(GetParam().code, GetParam().result));
  const at::Tensor zero = at::zeros({1}, at::kDouble);
  torch::jit::Module reference = torch::jit::load(path);
  EXPECT_EQ(reference.forward({zero}).toTensor().item<double>(), GetParam().expected);
  const TorchScriptModel imported = import_torchscript(path);
  const fx::Value result = imported.module->invoke(std::vector<fx::Value>{zero});
  EXPECT_EQ(result.tensor().item<double>(), GetParam().expected);
}

constexpr const char* kDigits = "l[0] * 100 + l[1] * 10 + l[2]";

const ContainerCase kCases[] = {
    {"Sort", "  l.sort()\n", kDigits, 123},
    {"SortReverse", "  l.sort(reverse=True)\n", kDigits, 321},
    {"SortFloats", "  f.sort()\n", "f[0] * 100.0 + f[1] * 10.0 + f[2]", -92.5},
    {"SortFloatsReverse", "  f.sort(True)\n", "f[0] * 100.0 + f[1] * 10.0 + f[2]", 254},
    {"SortTexts", "  s.sort()\n", "len(s[0]) * 100 + len(s[1]) * 10 + len(s[2])", 534},
    {"Remove", "  l.append(3)\n  l.remove(3)\n", kDigits, 123},
    {"RemoveText", "  s.remove('fig')\n", "len(s) * 10 + len(s[1])", 25},
    {"RepeatInPlace", "  k = l\n  l *= 2\n", "len(k) * 10 + k[3]", 63},
    {"InsertBeforeLast", "  l.insert(-1, 9)\n", "l[2] * 10 + l[3]", 92},
    {"InsertFarBefore", "  l.insert(-100, 9)\n", kDigits, 931},
    {"InsertFarBehind", "  l.insert(100, 9)\n", "l[2] * 10 + l[3]", 29},
    {"SliceOfOneStep", "  l = l[1:9223372036854775807:9223372036854775807]\n", "len(l) * 10 + l[0]",
     11},
    {"Update", "  d.update({'b': 5, 'c': 7})\n", "len(d) * 100 + d['b'] * 10 + d['c']", 357},
    {"UpdateByItself", "  d.update(d)\n", "len(d) * 10 + d['b']", 22},
    {"DeleteKey", "  del d['a']\n", "len(d) * 10 + d['b']", 12},
    {"PopItem", "  k, v = d.popitem()\n", "len(d) * 10 + v", 11},
    {"SetDefaultOfNew", "  v = d.setdefault('c', 8)\n", "len(d) * 100 + d['c'] * 10 + v", 388},
    {"SetDefaultOfOld", "  v = d.setdefault('b', 8)\n", "len(d) * 100 + d['b'] * 10 + v", 222},
    {"ClearDict", "  d.clear()\n", "len(d)", 0},
};
INSTANTIATE_TEST_SUITE_P(Code, TorchScriptContainers, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(TorchScriptContainerErrors, SayWhatIsWrong) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"  t = [x]\n  torch._foreach_add_(t, 1)\n  x = t[0]\n",
       "operator 'aten::_foreach_add_' changes a list in place, which is not supported"},
      {"  l.remove(7)\n", "a value is removed from a list that does not contain it"},
      {"  l.append(int(x))\n  l.sort()\n",
       "a list is sorted whose items depend on data, which is known only when the model runs; "
       "trace the model instead"},
      {"  l.remove(int(x))\n",
       "a list is searched whose items depend on data, which is known only when the model runs; "
       "trace the model instead"},
      {"  f.append(float('nan'))\n  f.sort()\n", "a list is sorted that has a NaN"},
      {"  t = [x, x]\n  t.sort()\n  x = t[0]\n",
       "a list is sorted whose items depend on data, which is known only when the model runs; "
       "trace the model instead"},
      {"  del d['z']\n", "a dict has no such key"},
      {"  d.clear()\n  d.popitem()\n", "an item is taken from an empty dict"},
  };
  const test::TempDir folder;
  for (const auto& [code, message] : cases) {
    const std::string path = scripted(folder.path(), whole(code, "len(l) + len(d) + len(f)"));
    EXPECT_THAT(import_error(path), EndsWith(message)) << code;
  }
}

}  // namespace
}  // namespace sparsebit::frontends::testing::containers_test
