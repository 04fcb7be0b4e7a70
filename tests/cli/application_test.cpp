#include "cli/run_command.h"

#include <gtest/gtest.h>

namespace sparsebit::cli::test::application_test {
namespace {

TEST(Application, ShortAndLongFormsAreTheSame) {
  EXPECT_EQ(run_command({"-V"}).out, run_command({"--version"}).out);
  EXPECT_EQ(run_command({"-V"}).code, 0);
  EXPECT_EQ(run_command({"-h"}).out, run_command({"--help"}).out);
}

TEST(Application, HelpIsAWordToo) {
  const Result help = run_command({"help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(help.out, run_command({"--help"}).out);
  EXPECT_EQ(run_command({"help", "help"}).out, help.out);
  for (const std::string& name : command_names()) {
    const Result of_command = run_command({"help", name.c_str()});
    EXPECT_EQ(of_command.code, 0);
    EXPECT_EQ(of_command.out, run_command({name.c_str(), "--help"}).out);
    EXPECT_EQ(of_command.out, run_command({name.c_str(), "-h"}).out);
  }
}

TEST(Application, HelpOfAnUnknownCommandSuggests) {
  const Result result = run_command({"help", "quantise"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.err,
            "error: unknown command 'quantise'; did you mean 'quantize'?\n"
            "Run 'sparsebit --help' for the commands.\n");
  EXPECT_EQ(run_command({"hepl"}).err,
            "error: unknown command 'hepl'; did you mean 'help'?\n"
            "Run 'sparsebit --help' for the commands.\n");
}

/// A model may be called help.
TEST(Application, HelpBehindACommandIsAnArgument) {
  const Result result = run_command({"inspect", "help"});
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.err, "error: help: cannot read: No such file or directory\n");
}

}  // namespace
}  // namespace sparsebit::cli::test::application_test
