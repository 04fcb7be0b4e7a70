#include "cli/run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// What the script does in bash is checked by completion_check.py.

namespace sparsebit::cli::test::completion_test {
namespace {

using testing::HasSubstr;

TEST(Completion, EveryCommandIsThere) {
  const std::string bash = bash_completion(), zsh = zsh_completion();
  for (const std::string& name : command_names()) {
    EXPECT_THAT(bash, HasSubstr("\n    " + name + ")\n"));
    EXPECT_THAT(zsh, HasSubstr("\n    " + name + ")\n"));
    EXPECT_THAT(zsh, HasSubstr("\n    '" + name + ":"));
  }
}

TEST(Completion, EveryOptionOfTheHelpIsThere) {
  const std::string bash = bash_completion(), zsh = zsh_completion();
  for (const std::string& name : command_names()) {
    std::istringstream help(run_command({name.c_str(), "--help"}).out);
    for (std::string line; std::getline(help, line);) {
      if (!line.starts_with("  -")) continue;
      const size_t start = line.find("--");
      const std::string option = line.substr(start, line.find_first_of(" ,", start) - start);
      EXPECT_THAT(bash, HasSubstr(" " + option)) << name;
      EXPECT_THAT(zsh, HasSubstr(option)) << name;
    }
  }
}

TEST(Completion, TablesOfTextOptionsNameOptionsThatExist) {
  const std::string bash = bash_completion();
  for (const char* option :
       {"--shape", "--skip", "--node", "--exclude", "--name", "--dynamic", "--input"})
    EXPECT_THAT(bash, HasSubstr("        " + std::string(option) + ") choice='nothing' ;;\n"));
}

}  // namespace
}  // namespace sparsebit::cli::test::completion_test
