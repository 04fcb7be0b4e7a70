// Writes docs/onnx-support.md: supported operators, and the results of ONNX's conformance cases.

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
         "Every file of operator sets 7 to 22 can be read. A node with an unknown operator, or "
         "with an\n"
         "unsupported form of a known one, is carried through unchanged: it is listed by "
         "`sparsebit\n"
         "inspect` and written back by `sparsebit convert`. If the operator has changed since, "
         "the\n"
         "exported file must use the operator set of the original file. Running such a node is an "
         "error.\n\n"
         "## Supported operators\n\n"
      << operator_list()
      << "\n## Conformance\n\n"
         "The cases of Debian's `libonnx-testdata`, with the tolerances of ONNX's own runner\n"
         "(relative 1e-3, absolute 1e-7). A case is claimed when every operator in it is "
         "supported;\n"
         "a claimed case that fails makes the test suite fail.\n\n"
      << counts_table(results) << "\n## Not claimed\n\n"
      << unclaimed_table(results);
}

}  // namespace
}  // namespace sparsebit::test

int main() { sparsebit::test::write_page(std::cout); }
