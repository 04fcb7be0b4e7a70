#include "sparsebit/report/sentences.h"

#include <gtest/gtest.h>

namespace sparsebit::report::sentences_test {
namespace {

using quant::Decision;
using quant::DecisionKind;

TEST(Sentences, NameWhatTheyAreAbout) {
  const platforms::Platform& platform = *platforms::find_platform("onnxruntime");
  const Decision fused{DecisionKind::FusedWith, "relu", "conv"};
  EXPECT_EQ(sentence(fused, platform), "fused with 'conv'");
  EXPECT_EQ(summary_of(fused, platform), "fused with the operator before it");
  EXPECT_EQ(sentence({DecisionKind::KeptFloatByPlatform, "s", "softmax"}, platform),
            "probabilities need a higher resolution than 8 bits");
  EXPECT_EQ(sentence({DecisionKind::SwitchedOff, "x", "the first layer is small"}, platform),
            "the first layer is small");
}

/// Every kind has a sentence, with and without names.
TEST(Sentences, EveryKindHasOne) {
  const platforms::Platform& platform = *platforms::find_platform("qdq");
  for (int i = 0; i <= static_cast<int>(DecisionKind::SwitchedOff); ++i) {
    const Decision decision{static_cast<DecisionKind>(i), "node", "other"};
    for (const std::string& text : {sentence(decision, platform), summary_of(decision, platform)}) {
      EXPECT_FALSE(text.empty()) << to_string(decision.kind);
      EXPECT_EQ(text.find("  "), std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace sparsebit::report::sentences_test
