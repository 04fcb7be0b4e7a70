#include "cli/run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

// What the script does in bash is checked by completion_check.py.

namespace sparsebit::cli::test::completion_test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

TEST(Completion, EveryCommandIsThere) {
  const std::string bash = bash_completion(), zsh = zsh_completion();
  for (const std::string& name : command_names()) {
    EXPECT_THAT(bash, HasSubstr("\n    " + name + ")\n"));
    EXPECT_THAT(zsh, HasSubstr("\n    " + name + ")\n"));
    EXPECT_THAT(zsh, HasSubstr("\n    '" + name + ":"));
  }
}

/// The part of a script for one command, up to that of the next one.
std::string section_of(const std::string& script, const std::string& command) {
  const std::string indent = "\n    ";
  const size_t start = script.find(indent + command + ")\n");
  if (start == std::string::npos) return "";
  size_t end = start;
  do {
    end = script.find(indent, end + 1);
  } while (end != std::string::npos && script[end + indent.size()] == ' ');
  return script.substr(start, end - start);
}

TEST(Completion, EveryOptionOfTheHelpIsThere) {
  for (const std::string& name : command_names()) {
    const std::string bash = section_of(bash_completion(), name);
    const std::string zsh = section_of(zsh_completion(), name);
    std::istringstream help(run_command({name.c_str(), "--help"}).out);
    for (std::string line; std::getline(help, line);) {
      if (!line.starts_with("  -")) continue;
      const size_t start = line.find("--");
      const std::string option = line.substr(start, line.find_first_of(" ,", start) - start);
      EXPECT_THAT(bash, HasSubstr(" " + option)) << name;
      EXPECT_THAT(zsh, AnyOf(HasSubstr(")" + option), HasSubstr("*" + option))) << name;
    }
  }
}

TEST(Completion, ArgumentsThatAreAlsoOptionsAreBoth) {
  const std::string config = section_of(zsh_completion(), "config");
  EXPECT_THAT(config, HasSubstr("'1:platform:"));
  EXPECT_THAT(config, HasSubstr("'(--platform)--platform=["));
  const std::string platforms = section_of(zsh_completion(), "platforms");
  EXPECT_THAT(platforms, HasSubstr("'1:name:"));
  EXPECT_THAT(platforms, HasSubstr("'(--show)--show=["));
}

/// _arguments -C changes it.
TEST(Completion, TheContextOfZshIsLocal) {
  EXPECT_THAT(zsh_completion(), HasSubstr("local state line curcontext=\"$curcontext\"\n"));
}

}  // namespace
}  // namespace sparsebit::cli::test::completion_test
