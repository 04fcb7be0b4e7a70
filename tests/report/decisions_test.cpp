#include "sparsebit/report/decisions.h"

#include "report/report_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sparsebit::report::decisions_test {
namespace {

using testing::HasSubstr;

TEST(Decisions, OneForEachNode) {
  const quant::QuantModel model = test::calibrated_net("onnxruntime");
  const auto decisions = decisions_of(model);
  ASSERT_EQ(decisions.size(), 5u);
  EXPECT_EQ(decisions[0].node, "conv");
  EXPECT_TRUE(decisions[0].is_quantized());
  EXPECT_EQ(decisions[0].integers.size(), 3u);  // input, weight and bias
  EXPECT_FALSE(decisions[2].is_quantized());
  const std::string text = to_text(decisions, model.platform());
  EXPECT_THAT(text, HasSubstr("float: onnxruntime has no integer form of 'tanh'"));
  const auto json = nlohmann::json::parse(to_json(decisions, model.platform()));
  EXPECT_EQ(json[2]["kind"], "no_integer_form");
  EXPECT_EQ(json[2]["decision"], "float");
  EXPECT_EQ(json[0]["integers"][1]["part"], "weight");
}

}  // namespace
}  // namespace sparsebit::report::decisions_test
