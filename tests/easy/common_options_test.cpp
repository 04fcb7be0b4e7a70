#include "easy/common_options.h"

#include <gtest/gtest.h>

namespace sparsebit::easy::test::common_options_test {
namespace {

TEST(CommonOptions, QuietAndJsonShowNoProgress) {
  using Style = ProgressOptions::Style;
  EXPECT_NE(shown_progress({}, /*json=*/false).style, Style::Quiet);
  EXPECT_EQ(shown_progress({}, /*json=*/true).style, Style::Quiet);
  EXPECT_EQ(shown_progress({.quiet = true}, /*json=*/false).style, Style::Quiet);
}

TEST(CommonOptions, ProgressGoesToTheCaller) {
  int64_t seen = 0;
  const auto see = [&](const std::string&, int64_t done, int64_t) { seen = done; };
  shown_progress({.on_progress = see}, /*json=*/false).on_advance("work", 7, 9);
  EXPECT_EQ(seen, 7);
}

}  // namespace
}  // namespace sparsebit::easy::test::common_options_test
