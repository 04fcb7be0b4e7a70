#include "sparsebit/core/progress.h"

#include "sparsebit/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <sstream>

namespace sparsebit::progress_test {
namespace {

using testing::ThrowsMessage;
using Style = ProgressOptions::Style;

class ProgressTest : public testing::Test {
 protected:
  ProgressOptions options(Style style) {
    return {.out = &out_, .style = style, .clock = [this] { return now_; }};
  }

  // The text written since the last call.
  std::string written() {
    std::string text = out_.str();
    out_.str("");
    return text;
  }

  std::ostringstream out_;
  double now_ = 1000;
};

TEST_F(ProgressTest, LinesShowQuartersAndTheEnd) {
  Progress progress("calibrating", 128, options(Style::Lines));
  for (int i = 0; i < 128; ++i) {
    now_ += 0.025;
    progress.advance();
  }
  progress.finish();
  EXPECT_EQ(written(),
            "calibrating: 25% (32/128)\n"
            "calibrating: 50% (64/128)\n"
            "calibrating: 75% (96/128)\n"
            "calibrating: done, 128 in 3.2 s\n");
}

TEST_F(ProgressTest, LinesSkipQuartersThatAreJumpedOver) {
  Progress progress("load", 10, options(Style::Lines));
  progress.advance(8);
  progress.advance(1);
  progress.advance(1);
  EXPECT_EQ(written(), "load: 80% (8/10)\n");
}

TEST_F(ProgressTest, LinesOfAnUnfinishedLoopDoNotSayDone) {
  {
    Progress progress("load", 10, options(Style::Lines));
    progress.advance(6);
  }
  EXPECT_EQ(written(), "load: 60% (6/10)\nload: stopped at 6/10\n");
}

TEST_F(ProgressTest, DestructorFinishesACompleteLoop) {
  {
    Progress progress("load", 2, options(Style::Lines));
    progress.advance(2);
  }
  EXPECT_EQ(written(), "load: done, 2 in 0.0 s\n");
}

TEST_F(ProgressTest, FinishCountsOnce) {
  {
    Progress progress("load", 2, options(Style::Lines));
    progress.finish();
    progress.finish();
    progress.advance(2);
  }
  EXPECT_EQ(written(), "load: done, 0 in 0.0 s\n");
}

TEST_F(ProgressTest, LinesOfUnknownTotalShowOnlyTheEnd) {
  {
    Progress progress("read", 0, options(Style::Lines));
    progress.advance(500);
    now_ += 2;
    progress.finish();
  }
  EXPECT_EQ(written(), "read: done, 500 in 2.0 s\n");
  {
    Progress progress("read", 0, options(Style::Lines));
    progress.advance(5);
  }
  EXPECT_EQ(written(), "read: stopped at 5\n");
}

TEST_F(ProgressTest, BarShowsCountPercentAndTimeLeft) {
  Progress progress("load", 128, options(Style::Bar));
  EXPECT_EQ(written(), "\rload  [>                       ]  0/128  0%\x1b[K");
  now_ += 0.6;
  progress.advance(42);
  EXPECT_EQ(written(), "\rload  [=======>                ]  42/128  32%  1.2 s left\x1b[K");
  now_ += 2;
  progress.advance(86);
  EXPECT_EQ(written(), "\rload  [========================]  128/128  100%\x1b[K");
  progress.finish();
  EXPECT_EQ(written(), "\rload  [========================]  128/128  100%  2.6 s\x1b[K\n");
}

TEST_F(ProgressTest, BarIsDrawnAtMostTenTimesPerSecond) {
  Progress progress("load", 1000, options(Style::Bar));
  for (int i = 0; i < 1000; ++i) {
    now_ += 1.0 / 512;  // exact in binary; 1000 steps take 1.95 s
    progress.advance();
  }
  const std::string text = written();
  // One drawing at the start and one every 52nd step, the first after a tenth of a second.
  EXPECT_EQ(std::count(text.begin(), text.end(), '\r'), 1 + 1000 / 52);
}

TEST_F(ProgressTest, UnfinishedBarEndsItsLineWhereItStopped) {
  {
    Progress progress("load", 4, options(Style::Bar));
    written();
    progress.advance(1);  // too soon to be drawn
    EXPECT_EQ(written(), "");
    now_ += 1;
  }
  EXPECT_EQ(written(), "\rload  [======>                 ]  1/4  25%  3.0 s left\x1b[K\n");
}

TEST_F(ProgressTest, BarOfUnknownTotalShowsCountAndTime) {
  Progress progress("read", 0, options(Style::Bar));
  now_ += 1.5;
  progress.advance(7);
  EXPECT_EQ(written(), "\rread  0  0.0 s\x1b[K\rread  7  1.5 s\x1b[K");
}

TEST_F(ProgressTest, AlmostDoneIsNotAHundredPercent) {
  Progress progress("load", 1000, options(Style::Bar));
  written();
  now_ += 1;
  progress.advance(999);
  EXPECT_THAT(written(), testing::HasSubstr("999/1000  99%"));
}

TEST_F(ProgressTest, MoreStepsThanTheTotalStayAtAHundredPercent) {
  Progress progress("load", 2, options(Style::Bar));
  written();
  now_ += 1;
  progress.advance(3);
  EXPECT_EQ(written(), "\rload  [========================]  3/2  100%\x1b[K");
}

TEST_F(ProgressTest, HugeTotalsDoNotOverflow) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  Progress progress("load", kHuge, options(Style::Lines));
  progress.advance(kHuge / 2 + 1);
  EXPECT_EQ(written(), "load: 50% (4611686018427387904/9223372036854775807)\n");
  progress.advance(kHuge / 2 - 1);
  EXPECT_EQ(written(), "load: 99% (9223372036854775806/9223372036854775807)\n");
}

TEST_F(ProgressTest, LongTimesAreShownInLargerUnits) {
  const std::pair<double, const char*> times[] = {
      {59.9, "59.9 s"}, {59.96, "1 min 00 s"}, {125, "2 min 05 s"}, {3725, "1 h 02 min"}};
  for (const auto& [seconds, text] : times) {
    Progress progress("load", 1, options(Style::Lines));
    now_ += seconds;
    progress.finish();
    EXPECT_EQ(written(), "load: done, 0 in " + std::string(text) + "\n");
  }
}

TEST_F(ProgressTest, QuietPrintsNothing) {
  {
    Progress progress("load", 4, options(Style::Quiet));
    now_ += 1;
    progress.advance(4);
    progress.finish();
  }
  { Progress unfinished("load", 4, options(Style::Quiet)); }
  EXPECT_EQ(written(), "");
}

TEST_F(ProgressTest, AutoIsLinesWhenNotOnATerminal) {
  Progress progress("load", 4, options(Style::Auto));
  progress.advance(1);
  EXPECT_EQ(written(), "load: 25% (1/4)\n");
}

class NarrowProgress : public ProgressTest {
 protected:
  /// What a half finished bar looks like.
  std::string drawn(int64_t columns) {
    ProgressOptions narrow = options(Style::Bar);
    narrow.columns = [columns] { return columns; };
    Progress progress("calibrating", 128, narrow);
    written();
    now_ += 1;
    progress.advance(64);
    return written();
  }
};

TEST_F(NarrowProgress, BarShrinksAndThenPartsAreLeftOut) {
  const std::pair<int64_t, const char*> cases[] = {
      {80, "calibrating  [============>           ]  64/128  50%  1.0 s left"},
      {60, "calibrating  [=========>         ]  64/128  50%  1.0 s left"},
      {47, "calibrating  [===>  ]  64/128  50%  1.0 s left"},
      {46, "calibrating  64/128  50%  1.0 s left"},
      {37, "calibrating  64/128  50%  1.0 s left"},
      {36, "calibrating  64/128  50%"},
      {25, "calibrating  64/128  50%"},
      {24, "calibrating  50%"},
      {17, "calibrating  50%"},
      {10, "calibrati"},
      {1, ""},
      {0, ""},
  };
  for (const auto& [columns, line] : cases)
    EXPECT_EQ(drawn(columns), "\r" + std::string(line) + "\x1b[K") << columns;
}

TEST_F(NarrowProgress, RowsOfALineThatWasBrokenByResizingAreErased) {
  int64_t columns = 80;
  ProgressOptions resized = options(Style::Bar);
  resized.columns = [&columns] { return columns; };
  Progress progress("calibrating", 128, resized);
  now_ += 1;
  progress.advance(64);
  written();
  columns = 30;  // the 64 characters of the line are on three rows now
  now_ += 1;
  progress.advance(32);
  EXPECT_EQ(written(), "\r\x1b[K\x1b[A\x1b[K\x1b[Acalibrating  96/128  75%\x1b[K");
  columns = 80;
  now_ += 1;
  progress.advance(1);
  EXPECT_THAT(written(), testing::StartsWith("\rcalibrating  [=="));
}

TEST_F(ProgressTest, ACallbackSeesEachStepWhateverTheStyle) {
  ProgressOptions quiet = options(Style::Quiet);
  std::vector<std::string> seen;
  quiet.on_advance = [&](const std::string& label, int64_t done, int64_t total) {
    seen.push_back(label + " " + std::to_string(done) + "/" + std::to_string(total));
  };
  Progress progress("load", 4, quiet);
  progress.advance(3);
  progress.advance();
  progress.finish();
  EXPECT_THAT(seen, testing::ElementsAre("load 3/4", "load 4/4"));
  EXPECT_EQ(written(), "");
}

TEST_F(NarrowProgress, RowsThatAreFullAreCountedOnce) {
  int64_t columns = 80;
  ProgressOptions resized = options(Style::Bar);
  resized.columns = [&columns] { return columns; };
  Progress progress("calibrating", 128, resized);
  now_ += 1;
  progress.advance(64);
  written();
  columns = 32;  // 64 characters on two rows
  now_ += 1;
  progress.advance(32);
  EXPECT_EQ(written(), "\r\x1b[K\x1b[Acalibrating  96/128  75%\x1b[K");
}

TEST_F(ProgressTest, NegativeNumbersAreRefused) {
  EXPECT_THAT([&] { Progress("load", -1, options(Style::Quiet)); },
              ThrowsMessage<Error>("progress 'load': total must not be negative, got -1"));
  Progress progress("load", 4, options(Style::Quiet));
  EXPECT_THAT([&] { progress.advance(-2); },
              ThrowsMessage<Error>("progress 'load': cannot advance by a negative number, got -2"));
}

TEST_F(ProgressTest, DestructorSurvivesAStreamThatThrows) {
  Progress progress("load", 4, options(Style::Lines));
  out_.exceptions(std::ios::badbit);
  EXPECT_THROW(out_.setstate(std::ios::badbit), std::ios::failure);
}

}  // namespace
}  // namespace sparsebit::progress_test
