#include "cli/certification_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

namespace sparsebit::cli::test::certification_options_test {
namespace {

CertificationOptions parsed(const std::string& line) {
  CLI::App app;
  CertificationOptions options;
  add_certification_options(app, options);
  app.parse(line);
  return options;
}

TEST(CertificationOptions, TakeTheValuesOfTheCommandLine) {
  const CertificationOptions options = parsed(
      "--certificate c.json --most-steps 0.5 --most-steps-optimized 8 --without-runtime "
      "--allow-useless --force");
  EXPECT_EQ(options.output, "c.json");
  EXPECT_EQ(options.most_steps, 0.5);
  EXPECT_EQ(options.most_steps_optimized, 8);
  EXPECT_TRUE(options.without_runtime);
  EXPECT_TRUE(options.allow_useless);
  EXPECT_TRUE(options.force);
}

TEST(CertificationOptions, LimitsAreFiniteNumbersOfAtLeastZero) {
  EXPECT_EQ(parsed("--most-steps 0").most_steps, 0);
  for (const char* number : {"-1", "inf", "nan", "x"})
    EXPECT_THROW(parsed("--most-steps=" + std::string(number)), CLI::ValidationError) << number;
}

/// `quantize` ties them to --certify.
TEST(CertificationOptions, ReturnsEveryOption) {
  CLI::App app;
  CertificationOptions options;
  const size_t before = app.get_options().size();
  const size_t returned = add_certification_options(app, options).size();
  EXPECT_EQ(app.get_options().size(), before + returned);
}

}  // namespace
}  // namespace sparsebit::cli::test::certification_options_test
