#include "sparsebit/export/certificate.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>

namespace sparsebit::exports::test::quality_test {
namespace {

struct Case {
  std::string name;
  double snr;
  std::optional<double> same_top1;
  int64_t samples;
  QualityLevel level;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class QualityOf : public testing::TestWithParam<Case> {};

TEST_P(QualityOf, Level) {
  const Case& c = GetParam();
  EXPECT_EQ(to_string(quality_of(c.snr, c.same_top1, c.samples).level), to_string(c.level));
}

constexpr double kInfinite = std::numeric_limits<double>::infinity();

INSTANTIATE_TEST_SUITE_P(
    Levels, QualityOf,
    testing::Values(Case{"Detector", 22, std::nullopt, 32, QualityLevel::Good},
                    Case{"NoisyDetector", 14.9, std::nullopt, 32, QualityLevel::Degraded},
                    Case{"UselessDetector", 4.9, std::nullopt, 32, QualityLevel::Useless},
                    Case{"Equal", kInfinite, 1., 32, QualityLevel::Good},
                    Case{"NotANumber", std::numeric_limits<double>::quiet_NaN(), std::nullopt, 32,
                         QualityLevel::Useless},
                    Case{"Infinities", -kInfinite, std::nullopt, 32, QualityLevel::Useless},
                    Case{"Classifier", 20, 0.95, 32, QualityLevel::Good},
                    Case{"ClassifierWithOtherAnswers", 20, 0.85, 32, QualityLevel::Degraded},
                    Case{"UselessClassifier", 6, 0.4, 32, QualityLevel::Useless},
                    Case{"RandomWeightsKeepTheirScores", 30, 0.2, 32, QualityLevel::Degraded},
                    Case{"SureAnswersInNoise", 3, 0.97, 32, QualityLevel::Degraded},
                    Case{"TooFewSamplesForAnswers", 20, 0., 9, QualityLevel::Good}),
    [](const auto& info) { return info.param.name; });

TEST(QualityOfFewSamples, SaysThatAnswersAreNotJudged) {
  EXPECT_FALSE(quality_of(20, 0.5, 9).top1_is_judged);
  EXPECT_TRUE(quality_of(20, 0.5, 10).top1_is_judged);
  EXPECT_FALSE(quality_of(20, std::nullopt, 100).top1_is_judged);
}

}  // namespace
}  // namespace sparsebit::exports::test::quality_test
