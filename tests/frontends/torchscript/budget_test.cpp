// Small files that need endless work: the import fails soon, with one line.

#include "core/temp_dir.h"
#include "frontends/torchscript/reference.h"
#include "support/cpu_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::frontends::testing::budget_test {
namespace {

using ::testing::HasSubstr;

struct EndlessCase {
  const char* name;
  std::string code;
  const char* message;
};

constexpr const char* kTooManyOperations = "the model's code needs too many operations to unroll";

/// Each level calls the one below twice.
std::string doubling_calls() {
  std::string code = "def f0(self, x):\n  return x + 1\n";
  for (int i = 1; i <= 40; ++i) {
    const std::string below = "self.f" + std::to_string(i - 1);
    code += "def f" + std::to_string(i) + "(self, x):\n  return " + below + "(" + below + "(x))\n";
  }
  return code + "def forward(self, x):\n  return self.f40(x)\n";
}

/// Each list contains the previous one twice.
std::string doubling_nesting() {
  std::string code = "def forward(self, x):\n  l0 = [1, 2]\n";
  for (int i = 1; i <= 40; ++i) {
    const std::string inner = "l" + std::to_string(i - 1);
    code += "  l" + std::to_string(i) + " = [" + inner + ", " + inner + "]\n";
  }
  return code + "  return x + len(l40)\n";
}

class TorchScriptBudget : public ::testing::TestWithParam<EndlessCase> {};

TEST_P(TorchScriptBudget, EndsInOneLine) {
  const test::TempDir folder;
  const std::string path = scripted(folder.path(), GetParam().code);
  std::string error;
  const double seconds = test::cpu_seconds_of([&] { error = import_error(path); });
  EXPECT_THAT(error, HasSubstr(GetParam().message));
  EXPECT_THAT(error, ::testing::Not(HasSubstr("\n")));
  EXPECT_LT(seconds, 60);  // about three normally; sanitizers take longer
}

const EndlessCase kCases[] = {
    {"LongLoop",
     "def forward(self, x):\n  n = 0\n  for i in range(1000000000):\n    n = n + 1\n  return x + "
     "n\n",
     "a loop runs more than 65536 times"},
    {"EndlessLoop", "def forward(self, x):\n  while True:\n    x = x + 1\n  return x\n",
     kTooManyOperations},
    {"LoopInLoop",
     "def forward(self, x):\n  n = 0\n  for i in range(60000):\n    for j in range(60000):\n"
     "      n = n + 1\n  return x + n\n",
     kTooManyOperations},
    {"GraphWithoutEnd",
     "def forward(self, x):\n  for i in range(60000):\n    for j in range(60000):\n"
     "      x = x + 1\n  return x\n",
     kTooManyOperations},
    {"ListThatDoubles",
     "def forward(self, x):\n  l = [1, 2]\n  for i in range(60):\n    l = l + l\n"
     "  return x.reshape(l)\n",
     kTooManyOperations},
    {"ListThatExtendsItself",
     "def forward(self, x):\n  l = [1, 2]\n  for i in range(60):\n    l.extend(l)\n"
     "  return x.reshape(l)\n",
     kTooManyOperations},
    {"ManyLongLists",
     "def forward(self, x):\n  n = 0\n  for i in range(60000):\n    l = [0] * 1000000\n"
     "    n = n + len(l)\n  return x + n\n",
     kTooManyOperations},
    {"TextThatDoubles",
     "def forward(self, x):\n  s = 'ab'\n  for i in range(60):\n    s = s + s\n"
     "  return x + len(s)\n",
     "a computed string may have more than 8192 characters"},
    {"WideText",
     "def forward(self, x):\n  s = 'ab'\n  for i in range(2):\n    s = s.ljust(100000)\n"
     "  return x + len(s)\n",
     "a computed string may have more than 8192 characters"},
    {"TextOfTheLargestNumber",
     "def forward(self, x):\n  s = 'ab'\n  for i in range(2):\n"
     "    s = s.ljust(9223372036854775807)\n  return x + len(s)\n",
     "a computed string may have more than 8192 characters"},
    {"CallsThatDouble", doubling_calls(), kTooManyOperations},
    {"NestingThatDoubles", doubling_nesting(), kTooManyOperations},
    {"SliceOfAFarDimension",
     "def forward(self, x):\n  return torch.slice(x, 1000000000000, 0, 1, 1)\n",
     "a slice of dimension 1000000000000"},
};
INSTANTIATE_TEST_SUITE_P(Files, TorchScriptBudget, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sparsebit::frontends::testing::budget_test
