#include "cli/model_files.h"
#include "cli/run_command.h"
#include "core/temp_dir.h"
#include "sparsebit/core/printable_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

// Names in a model file are untrusted: control characters are escaped.

namespace sparsebit::cli::test::foreign_names_test {
namespace {

class ForeignNames : public testing::Test {
 protected:
  Result run_on(const std::string& name, std::vector<const char*> arguments) {
    save_model_of_names(model_, name);
    arguments.insert(arguments.begin() + 1, model_.c_str());
    return run_command(arguments);
  }

  sparsebit::test::TempDir folder_;
  std::string model_ = (folder_.path() / "m.onnx").string();
};

const std::vector<std::string> kNames = {
    "\x1b[31mred\x1b]0;title\x07", "two\nlines", "back\rto the start",  "csi \xc2\x9b[2J",
    "not \xff utf-8 \xc3",         "\x7f\x08",   "txt.\xe2\x80\xaeonnx"};

const std::vector<std::vector<const char*>> kCommands = {
    {"inspect"},
    {"inspect", "--format", "fx"},
    {"inspect", "--format", "mermaid"},
    {"inspect", "--json"},
    {"inspect", "--simplify", "--fuse", "--passes"},
    {"inspect", "--shape", "nothing=2"},
    {"run", "--random"},
    {"run", "--input", "nothing=nowhere.npy"},
    {"quantize", "--random-data", "-o", "/nowhere/q.onnx"}};

TEST_F(ForeignNames, AreNeverObeyed) {
  for (const std::string& name : kNames) {
    for (const std::vector<const char*>& arguments : kCommands) {
      const Result result = run_on(name, arguments);
      EXPECT_EQ(result.out, printable_lines(result.out)) << arguments.back();
      EXPECT_EQ(result.err, printable_lines(result.err)) << arguments.back();
      EXPECT_THAT(result.err, testing::Not(testing::HasSubstr("\nlines"))) << arguments.back();
    }
  }
}

TEST_F(ForeignNames, AreSeen) {
  EXPECT_THAT(run_on("\x1b[31mred", {"inspect"}).out, testing::HasSubstr("\\x1b[31mred"));
  EXPECT_THAT(run_on("two\nlines", {"run", "--input", "x=y"}).err,
              testing::HasSubstr("two\\nlines"));
}

TEST_F(ForeignNames, RowsOfTablesAreOneLine) {
  const auto lines = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  const Result plain = run_on("name", {"inspect"}), odd = run_on("two\nlines", {"inspect"});
  ASSERT_EQ(plain.code, 0);
  EXPECT_EQ(lines(odd.out), lines(plain.out)) << odd.out;
}

TEST_F(ForeignNames, CellsAndMessagesAreCut) {
  const std::string name(200'000, 'n');
  const Result table = run_on(name, {"inspect"});
  EXPECT_EQ(table.code, 0);
  EXPECT_LT(table.out.size(), 20'000U);
  EXPECT_LT(table.err.size(), 20'000U);
  EXPECT_LT(run_on(name, {"run", "--input", "x=y"}).err.size(), 20'000U);
}

TEST_F(ForeignNames, JsonKeepsThem) {
  const std::string name = "\x1b[31m \xe2\x80\xae \x7f\n";
  const Result result = run_on(name, {"inspect", "--json"});
  ASSERT_EQ(result.code, 0);
  EXPECT_EQ(nlohmann::json::parse(result.out)["inputs"][0]["name"], name);
}

}  // namespace
}  // namespace sparsebit::cli::test::foreign_names_test
