// Files with extremely nested or shared code or values: the import fails soon, with one line and
// without a crash.

#include "core/temp_dir.h"
#include "frontends/torchscript/large_stack.h"
#include "frontends/torchscript/reference.h"

#include <ATen/ATen.h>
#include <caffe2/serialize/inline_container.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <csignal>
#include <stdexcept>

namespace sparsebit::frontends::testing::nesting_test {
namespace {

using namespace std::string_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr const char* kFields = "  __parameters__ = []\n  __buffers__ = []\n  training : bool\n";

/// An archive with given contents, which torch.jit.save would not write.
std::string archive(const std::filesystem::path& folder, const std::string& code,
                    const std::string& data) {
  std::string path = (folder / "nested.pt").string();
  caffe2::serialize::PyTorchStreamWriter writer(path);
  const std::string constants = "\x80\x02)."s;
  writer.writeRecord("data.pkl", data.data(), data.size());
  writer.writeRecord("code/__torch__.py", code.data(), code.size());
  writer.writeRecord("constants.pkl", constants.data(), constants.size());
  writer.writeEndOfFile();
  return path;
}

std::string text(const std::string& text) {
  return "X" + std::string(1, static_cast<char>(text.size())) + "\0\0\0"s + text;
}

/// Each function calls the next one inside `ifs` nested ifs; called functions come first or last.
std::string chain(const std::filesystem::path& folder, int functions, int ifs, bool called_first) {
  std::string code;
  for (int i = 0; i < functions; ++i) {
    std::string one = "  def " + (i == 0 ? "forward"s : "f" + std::to_string(i)) +
                      "(self: __torch__.M,\n    x: Tensor) -> Tensor:\n";
    std::string indent = "    ", rest;
    for (int depth = 0; depth < ifs; ++depth) {
      one += indent + "if self.training:\n";
      rest = indent + "else:\n" + indent + "  y = x\n" + rest;
      indent += "  ";
    }
    const bool last = i == functions - 1;
    one += indent + "y = " + (last ? "torch.relu(" : "(self).f" + std::to_string(i + 1) + "(") +
           "x, )\n" + rest + "    return y\n";
    code = called_first ? one + code : code + one;
  }
  return archive(folder, "class M(Module):\n"s + kFields + code,
                 "\x80\x02"s + "c__torch__\nM\n)\x81}(" + text("training") + "\x88ub.");
}

/// Modules in which each contains the next one twice.
std::string doubling_modules(const std::filesystem::path& folder, int count) {
  std::string code, begin, end;
  for (int i = 0; i < count; ++i) {
    const std::string name = "M" + std::to_string(i), next = "M" + std::to_string(i + 1);
    const bool last = i == count - 1;
    const std::string fields = "  a : __torch__." + next + "\n  b : __torch__." + next + "\n";
    code = "class " + name + "(Module):\n" + kFields + (last ? "" : fields) +
           "  def forward(self: __torch__." + name +
           ",\n    x: Tensor) -> Tensor:\n    return torch.relu(x)\n" + code;
    begin +=
        "c__torch__\n" + name + "\n)\x81}(" + text("training") + "\x89" + (last ? "" : text("a"));
    const std::string place(1, static_cast<char>(i));
    end = (last ? "" : "q" + place + text("b") + "h" + place) + "ub" + end;
  }
  return archive(folder, code, "\x80\x02" + begin + end + ".");
}

TEST(TorchScriptNesting, IfsInFunctionsThatCallEachOther) {
  const test::TempDir folder;
  EXPECT_THAT(import_error(chain(folder.path(), 100, 100, true)),
              EndsWith("ifs and loops are nested 2000 deep"));
  EXPECT_EQ(import_error(chain(folder.path(), 90, 20, true)), "no error");
}

/// Compiling these takes more stack than a program usually has.
TEST(TorchScriptNesting, FunctionsThatAreCompiledInsideOfOthers) {
  const test::TempDir folder;
  EXPECT_THAT(import_error(chain(folder.path(), 1500, 3, false)),
              EndsWith("function calls are nested 400 deep"));
  EXPECT_THAT(import_error(chain(folder.path(), 300, 20, false)),
              EndsWith("ifs and loops are nested 2000 deep"));
}

TEST(TorchScriptNesting, ModulesThatAreSharedAgainAndAgain) {
  const test::TempDir folder;
  EXPECT_EQ(import_error(doubling_modules(folder.path(), 12)), "no error");
  const std::string path = doubling_modules(folder.path(), 30);
  EXPECT_EQ(import_error(path), path +
                                    ": record 'data.pkl' is damaged: its shared values expand to "
                                    "too many values");
}

TEST(LargeStack, HoldsWhatDoesNotFitOtherwise) {
  bool done = false;
  torchscript::run_on_large_stack(torchscript::kLargeStack, [&] {
    volatile char much[48 << 20];
    much[0] = 1;
    much[sizeof much - 1] = 1;
    done = much[0] == much[sizeof much - 1];
  });
  EXPECT_TRUE(done);
}

TEST(LargeStack, ThrowsAndHasModesAsTheCaller) {
  const at::NoGradGuard no_grad;
  bool gradients = true;
  const auto run = [&] {
    gradients = at::GradMode::is_enabled();
    throw std::runtime_error("from inside");
  };
  EXPECT_THAT([&] { torchscript::run_on_large_stack(1 << 20, run); },
              ::testing::ThrowsMessage<std::runtime_error>("from inside"));
  EXPECT_FALSE(gradients);
}

/// Recursion of which the compiler does not know that it never ends.
int endless(volatile char* above) {
  volatile char here[4096];
  here[0] = *above;
  if (here[0] == 0) return 0;
  return endless(here) + here[0];
}

TEST(LargeStackDeathTest, ACrashHandlerRunsWhenItIsFull) {
  EXPECT_EXIT(
      {
        struct sigaction action {};
        action.sa_handler = [](int) { _exit(7); };
        action.sa_flags = SA_ONSTACK;
        sigaction(SIGSEGV, &action, nullptr);
        torchscript::run_on_large_stack(1 << 20, [] {
          volatile char start = 1;
          endless(&start);
        });
      },
      ::testing::ExitedWithCode(7), "");
}

TEST(LargeStack, ThatNoSystemHasIsAnError) {
  EXPECT_THAT([] { torchscript::run_on_large_stack(size_t{1} << 60, [] {}); },
              ::testing::ThrowsMessage<std::exception>(
                  HasSubstr("the system cannot provide a stack of 1.15 EB")));
}

}  // namespace
}  // namespace sparsebit::frontends::testing::nesting_test
