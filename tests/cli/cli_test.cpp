#include "cli/run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::cli::test::cli_test {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

TEST(Cli, VersionIsPrinted) {
  const Result result = run_command({"--version"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, MatchesRegex("sparsebit [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Cli, HelpHasExamples) {
  const Result result = run_command({"--help"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, HasSubstr("sparsebit inspect zoo:resnet18"));
  EXPECT_EQ(result.err, "");
}

TEST(Cli, BadUsageIsExitCodeTwo) {
  for (const std::vector<const char*>& args : std::vector<std::vector<const char*>>{
           {},
           {"unknown"},
           {"inspect"},
           {"inspect", "zoo:resnet18", "--nope"},
           {"inspect", "zoo:resnet18", "--format", "xml"},
           {"inspect", "zoo:resnet18", "--threads", "-1"},
           {"inspect", "zoo:resnet18", "--seed=-1"},
           {"inspect", "zoo:resnet18", "--seed", "99999999999999999999"}}) {
    const Result result = run_command(args);
    EXPECT_EQ(result.code, 2);
    EXPECT_NE(result.err, "");
    EXPECT_EQ(result.out, "");
  }
}

TEST(Cli, UnknownCommandsAreSuggested) {
  EXPECT_EQ(run_command({"inspec", "zoo:resnet18"}).err,
            "error: unknown command 'inspec'; did you mean 'inspect'?\n"
            "Run 'sparsebit --help' for the commands.\n");
}

TEST(Cli, OutputThatCannotBeWrittenIsAFailure) {
  std::ostringstream out, err;
  out.setstate(std::ios::badbit);
  const char* args[] = {"sparsebit", "inspect", "zoo:list"};
  EXPECT_EQ(run(3, args, out, err), 1);
  EXPECT_EQ(err.str(), "error: the output could not be written\n");
}

}  // namespace
}  // namespace sparsebit::cli::test::cli_test
