#include "sparsebit/core/terminal.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

// With terminals, tests/cli/terminal_check.py.

namespace sparsebit::terminal_test {
namespace {

class Terminal : public testing::Test {
 protected:
  void TearDown() override {
    for (const auto& [name, value] : saved_)
      value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
  }

  void set(const char* name, const char* value) {
    const char* before = std::getenv(name);
    saved_.emplace(name, before ? before : "");
    setenv(name, value, 1);
  }

  std::map<std::string, std::string> saved_;
  std::ostringstream file_;
};

TEST_F(Terminal, StreamsToFilesAreNone) {
  EXPECT_FALSE(is_terminal(file_));
  EXPECT_FALSE(moves_cursor(file_));
  EXPECT_EQ(terminal_columns(file_), 80);
}

TEST_F(Terminal, FilesHaveNoColoursUnlessForced) {
  set("NO_COLOR", "");
  set("CLICOLOR_FORCE", "");
  EXPECT_FALSE(wants_colour(file_));
  set("CLICOLOR_FORCE", "0");
  EXPECT_FALSE(wants_colour(file_));
  set("CLICOLOR_FORCE", "1");
  EXPECT_TRUE(wants_colour(file_));
  set("NO_COLOR", "1");
  EXPECT_FALSE(wants_colour(file_));
}

TEST_F(Terminal, XtermAndTheConsoleDoNotBreakLinesAgain) {
  set("XTERM_VERSION", "");
  set("TERM", "xterm-256color");
  EXPECT_TRUE(reflows_lines());
  set("XTERM_VERSION", "XTerm(379)");
  EXPECT_FALSE(reflows_lines());
  set("XTERM_VERSION", "");
  set("TERM", "linux");
  EXPECT_FALSE(reflows_lines());
}

}  // namespace
}  // namespace sparsebit::terminal_test
