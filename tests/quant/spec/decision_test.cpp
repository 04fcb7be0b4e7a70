#include "sparsebit/quant/spec/decision.h"

#include "sparsebit/core/error.h"

#include <gtest/gtest.h>

namespace sparsebit::quant::decision_test {
namespace {

TEST(Decision, KindsHaveNamesForFiles) {
  EXPECT_EQ(to_string(DecisionKind::UnknownOperator), "unknown_operator");
  for (int kind = 0; kind <= static_cast<int>(DecisionKind::SwitchedOff); ++kind) {
    const auto name = to_string(static_cast<DecisionKind>(kind));
    EXPECT_NE(name, "?") << kind;
    EXPECT_EQ(static_cast<int>(decision_kind_from_text(name)), kind);
  }
  EXPECT_THROW(decision_kind_from_text("because"), Error);
}

}  // namespace
}  // namespace sparsebit::quant::decision_test
