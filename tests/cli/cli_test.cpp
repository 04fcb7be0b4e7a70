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
           {"inspect", "zoo:resnet18", "--seed", "99999999999999999999"},
           {"inspect", ""},
           {"run", ""},
           {"run", "zoo:resnet20", "--random", "-o", ""},
           {"run", "zoo:resnet20", "--input", ""},
           {"run", "zoo:resnet20", "--input", "x="},
           {"run", "zoo:resnet20", "--input", "=x.npy"},
           {"convert", "zoo:resnet20", "-o", ""},
           {"convert", "zoo:resnet20", "-o", "x.onnx", "--opset", "6"},
           {"convert", "zoo:resnet20", "-o", "x.onnx", "--opset", "23"},
           {"convert", "zoo:resnet20", "-o", "x.onnx", "--opset", "nonsense"}}) {
    const Result result = run_command(args);
    EXPECT_EQ(result.code, 2);
    EXPECT_NE(result.err, "");
    EXPECT_EQ(result.out, "");
  }
}

/// Errors that do not depend on the model are found before it is loaded.
TEST(Cli, ValuesThatMakeNoSenseAreBadUsage) {
  const std::vector<std::pair<std::vector<const char*>, std::string>> cases = {
      {{"inspect", "m", "--shape", "x=nonsense"},
       "--shape x=nonsense: expected sizes such as 1x3x224x224 or NAME=1x3x224x224"},
      {{"inspect", "m", "--shape", "2y3"},
       "--shape 2y3: expected sizes such as 1x3x224x224 or NAME=1x3x224x224"},
      {{"run", "m", "--random", "--shape", "x=2,3"},
       "--shape x=2,3: expected sizes such as 1x3x224x224 or NAME=1x3x224x224"},
      {{"run", "m", "--random", "--shape", "x=-1"},
       "--shape x=-1: expected sizes such as 1x3x224x224 or NAME=1x3x224x224"},
      {{"run", "m", "--random", "--shape", "x=2:floot32"},
       "--shape x=2:floot32: unknown type 'floot32'; did you mean 'float32'?"},
      {{"run", "m", "--random", "--shape", "x=2", "--shape", "x=3"},
       "--shape x=3: the shape of 'x' is given twice"},
      {{"run", "m", "--input", "x=a.npy", "--input", "x=b.npy"},
       "--input x=b.npy: input 'x' is given twice"},
      {{"inspect", "m", "--format", "fx", "--json"},
       "--json means --format json and cannot go with --format fx"},
      {{"inspect", "m", "--passes"}, "--passes needs --simplify, --fuse or --equalize"},
      {{"inspect", "m", "--without", "fuse_bn"},
       "--without needs --simplify, --fuse or --equalize"},
      {{"inspect", "m", "--fuse", "--node", "x"}, "--node needs --passes"},
      {{"inspect", "m", "--fuse", "--without", "fuse_bnn"},
       "--without fuse_bnn: unknown pass; did you mean 'fuse_bn'?"},
      {{"convert", "m", "-o", "o", "--dynamic", "nonsense"},
       "--dynamic nonsense: expected NAME:DIMENSION=SYMBOL, such as x:0=batch"},
      {{"convert", "m", "-o", "o", "--dynamic", "x:a=n"},
       "--dynamic x:a=n: expected NAME:DIMENSION=SYMBOL, such as x:0=batch"},
      {{"convert", "m", "-o", "o", "--dynamic", "x:0=3"},
       "--dynamic x:0=3: '3' is a number, not a name such as batch; --shape fixes a size"},
      {{"convert", "m", "-o", "o", "--dynamic", "x:0=a", "--dynamic", "x:0=b"},
       "--dynamic x:0=b: this dimension is given twice"},
  };
  for (const auto& [args, message] : cases) {
    const Result result = run_command(args);
    EXPECT_EQ(result.code, 2) << message;
    EXPECT_EQ(result.err, "error: " + message + "\n");
    EXPECT_EQ(result.out, "");
  }
}

TEST(Cli, OpsetsOutOfRangeAreNamedWithTheRange) {
  EXPECT_THAT(run_command({"convert", "zoo:resnet20", "-o", "x.onnx", "--opset", "23"}).err,
              HasSubstr("--opset: '23' is not a whole number from 11 to 21"));
}

TEST(Cli, LineBreaksInNamesDoNotBreakMessages) {
  EXPECT_EQ(run_command({"inspect", "/nowhere/a\nb.onnx"}).err,
            "error: /nowhere/a\\nb.onnx: cannot read: No such file or directory\n");
  EXPECT_EQ(run_command({"inspect", "m", "--shape", "x\ty"}).err,
            "error: --shape x\\ty: expected sizes such as 1x3x224x224 or NAME=1x3x224x224\n");
}

TEST(Cli, UnknownCommandsAreSuggested) {
  EXPECT_EQ(run_command({"inspec", "zoo:resnet18"}).err,
            "error: unknown command 'inspec'; did you mean 'inspect'?\n"
            "Run 'sparsebit --help' for the commands.\n");
}

TEST(Cli, OutputThatCannotBeWrittenIsAFailure) {
  for (const std::vector<const char*>& args :
       std::vector<std::vector<const char*>>{{"sparsebit", "inspect", "zoo:list"},
                                             {"sparsebit", "--help"},
                                             {"sparsebit", "run", "--help"},
                                             {"sparsebit", "--version"}}) {
    std::ostringstream out, err;
    out.setstate(std::ios::badbit);
    EXPECT_EQ(run(static_cast<int>(args.size()), args.data(), out, err), 1);
    EXPECT_EQ(err.str(), "error: the output could not be written\n");
  }
}

}  // namespace
}  // namespace sparsebit::cli::test::cli_test
