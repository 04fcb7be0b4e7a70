// Writes docs/onnx-support.md: what of ONNX's conformance data passes, and what is not claimed.

#include "frontends/onnx/conformance.h"
#include "frontends/onnx/conversion.h"

#include "sparsebit/fx/ops/operator.h"

#include <fmt/format.h>

#include <iostream>
#include <map>
#include <set>

namespace sparsebit::test {
namespace {

using Outcome = ConformanceResult::Outcome;

struct Counts {
  int cases = 0, passed = 0, failed = 0, not_claimed = 0;

  void add(Outcome outcome) {
    ++cases;
    ++(outcome == Outcome::Passed ? passed : outcome == Outcome::Failed ? failed : not_claimed);
  }
  std::string row(const std::string& name) const {
    return fmt::format("| {} | {} | {} | {} | {} |\n", name, cases, passed + failed, passed,
                       not_claimed);
  }
};

std::string counts_table(const std::vector<ConformanceResult>& results) {
  std::map<std::string, Counts> suites;
  Counts all;
  for (const ConformanceResult& result : results) {
    suites[result.suite].add(result.outcome);
    all.add(result.outcome);
  }
  std::string text = "| suite | cases | run | passed | not claimed |\n|---|---|---|---|---|\n";
  for (const auto& [name, counts] : suites) text += counts.row(name);
  return text + all.row("all");
}

std::string unclaimed_table(const std::vector<ConformanceResult>& results) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const ConformanceResult& result : results) {
    if (result.outcome == Outcome::NotClaimed) by_reason[result.reason].push_back(result.name);
  }
  std::string text = "| reason | cases |\n|---|---|\n";
  for (const auto& [reason, names] : by_reason) {
    text += fmt::format("| {} | {} |\n", reason, fmt::join(names, ", "));
  }
  return text;
}

std::string operator_list() {
  std::set<std::string> names;
  for (const std::string& name : frontends::converters().names()) names.insert(name);
  for (const std::string& spelling : fx::operators().spellings()) {
    if (spelling.starts_with("onnx.")) names.insert(spelling.substr(5));
  }
  return fmt::format("{} operators: {}.\n", names.size(), fmt::join(names, ", "));
}

void write_page(std::ostream& out) {
  const std::vector<ConformanceResult> results = run_all_cases();
  out << "# ONNX support\n\nWritten by `make docs`; do not edit.\n\n"
         "Every file of operator sets 7 to 22 can be read. An operator that is not understood, or "
         "a\n"
         "form of it that is not, is carried through unchanged: it is listed by `sparsebit "
         "inspect`\n"
         "and written back by `sparsebit convert`, which needs the operator set it was written for "
         "if "
         "the\n"
         "operator changed since; running it is an error.\n\n"
         "## Operators that are understood\n\n"
      << operator_list()
      << "\n## Conformance\n\n"
         "The cases of Debian's `libonnx-testdata`, with the tolerances of ONNX's own runner\n"
         "(relative 1e-3, absolute 1e-7). A case is claimed when every operator in it is "
         "understood;\n"
         "a claimed case that fails fails the test suite.\n\n"
      << counts_table(results) << "\n## Not claimed\n\n"
      << unclaimed_table(results);
}

}  // namespace
}  // namespace sparsebit::test

int main() { sparsebit::test::write_page(std::cout); }
