#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace sparsebit::test {

/// The result of one case of ONNX's own conformance data.
struct ConformanceResult {
  enum class Outcome { Passed, Failed, NotClaimed };
  std::string suite;  ///< "node", "pytorch-converted", ...
  std::string name;   ///< "test_abs"
  Outcome outcome;
  std::string reason;  ///< the difference, or why the case is not claimed
};

/// The folder installed by Debian's libonnx-testdata.
std::filesystem::path conformance_folder();

/// Imports a case's model and runs it on its data. A case is claimed when every operator in it is
/// supported; its results must then equal the stored ones within the tolerances of ONNX's own
/// runner (relative 1e-3, absolute 1e-7).
ConformanceResult run_case(const std::filesystem::path& folder);

/// All cases of all suites, sorted.
std::vector<ConformanceResult> run_all_cases();

}  // namespace sparsebit::test
