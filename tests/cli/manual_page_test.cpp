#include "cli/run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

// completion_check.py has groff read it, where that is installed.

namespace sparsebit::cli::test::manual_page_test {
namespace {

using testing::HasSubstr;

TEST(ManualPage, HasThePartsOfOne) {
  const std::string page = manual_page();
  for (const char* part :
       {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "EXIT STATUS", "ENVIRONMENT"})
    EXPECT_THAT(page, HasSubstr("\n.SH " + std::string(part) + "\n"));
  EXPECT_THAT(page, HasSubstr("\n.TH SPARSEBIT 1 "));
  EXPECT_THAT(page, HasSubstr("\nsparsebit \\- Quantize and deploy neural networks\n"));
}

TEST(ManualPage, DescribesEveryCommandAndItsOptions) {
  const std::string page = manual_page();
  for (const std::string& name : command_names())
    EXPECT_THAT(page, HasSubstr("\n.SS \\fBsparsebit " + name + "\\fR"));
  EXPECT_THAT(page, HasSubstr("\n.TP\n\\fB\\-\\-format\\fR \\fI{fx,json,mermaid,table}\\fR\n"));
  EXPECT_THAT(page, HasSubstr("\n.TP\n\\fB\\-q\\fR, \\fB\\-\\-quiet\\fR\n"));
}

TEST(ManualPage, ArgumentsThatAreAlsoOptionsAreBoth) {
  const std::string page = manual_page();
  EXPECT_THAT(page, HasSubstr("\n.SS \\fBsparsebit config\\fR \\fIplatform\\fR ["));
  EXPECT_THAT(page, HasSubstr("\n.TP\n\\fIplatform\\fR\n"));
  EXPECT_THAT(page, HasSubstr("\n.TP\n\\fB\\-\\-platform\\fR \\fIPLATFORM\\fR\n"));
}

TEST(ManualPage, NamesTheEnvironmentVariables) {
  const std::string page = manual_page();
  for (const char* name : {"NO_COLOR", "CLICOLOR_FORCE", "SPARSEBIT_MAX_MEMORY",
                           "SPARSEBIT_ONNXRUNTIME", "SPARSEBIT_RUNTIME_SECONDS"})
    EXPECT_THAT(page, HasSubstr("\n.TP\n.B " + std::string(name) + "\n"));
}

/// A line that starts with a dot or an apostrophe would be a request to groff.
TEST(ManualPage, TextNeverStartsAGroffRequest) {
  std::istringstream page(manual_page());
  const std::string requests = ".\\\" .TH .SH .SS .TP .PP .nf .fi .RS .RE .br .B ";
  for (std::string line; std::getline(page, line);) {
    EXPECT_FALSE(line.starts_with("'")) << line;
    if (!line.starts_with(".")) continue;
    const std::string request = line.substr(0, line.find(' '));
    EXPECT_THAT(requests, HasSubstr(request + " ")) << line;
  }
}

}  // namespace
}  // namespace sparsebit::cli::test::manual_page_test
