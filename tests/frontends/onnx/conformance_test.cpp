#include "frontends/onnx/conformance.h"

#include <gtest/gtest.h>

namespace sparsebit::test::conformance_test {
namespace {

TEST(OnnxConformance, EveryClaimedCasePasses) {
  size_t passed = 0, failed = 0, not_claimed = 0;
  for (const ConformanceResult& result : run_all_cases()) {
    const std::string name = result.suite + "/" + result.name + ": " + result.reason;
    switch (result.outcome) {
      case ConformanceResult::Outcome::Passed:
        ++passed;
        break;
      case ConformanceResult::Outcome::Failed:
        ++failed;
        ADD_FAILURE() << name;
        break;
      case ConformanceResult::Outcome::NotClaimed:
        ++not_claimed;
        if (std::getenv("SPARSEBIT_LIST_UNCLAIMED")) std::cout << "not claimed: " << name << "\n";
        break;
    }
  }
  std::cout << "ONNX conformance: " << passed + failed << " run, " << passed << " passed, "
            << not_claimed << " not claimed\n";
  EXPECT_GE(passed, 750U);
}

}  // namespace
}  // namespace sparsebit::test::conformance_test
