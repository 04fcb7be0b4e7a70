#include "sparsebit/export/speed.h"

#include "sparsebit/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::exports::test::speed_test {
namespace {

using testing::ThrowsMessage;

TEST(Quartiles, OfAFewValues) {
  const Quartiles q = quartiles_of({5, 1, 2, 4, 3});
  EXPECT_EQ(q.minimum, 1);
  EXPECT_EQ(q.lower, 2);
  EXPECT_EQ(q.median, 3);
  EXPECT_EQ(q.upper, 4);
  EXPECT_EQ(quartiles_of({1, 2}).median, 1.5);
  EXPECT_EQ(quartiles_of({7}).upper, 7);
  EXPECT_THAT([] { quartiles_of({}); }, ThrowsMessage<Error>("quartiles_of: there are no values"));
}

TEST(MeasuredSpeed, OfAnIdleMachine) {
  const MeasuredSpeed speed =
      measured_speed({{10, 10.2, 10.1}, {10, 10.2, 10.1}}, {{5, 5.1, 5.2}, {5, 5.1, 5.2}});
  EXPECT_EQ(speed.rounds, 3);
  EXPECT_EQ(speed.ratio(), 2);
  EXPECT_NEAR(speed.median_ratio(), 1.98, 0.01);
  EXPECT_TRUE(speed.is_stable());
}

/// Other processes use the processor for a while; the fastest runs are not affected.
TEST(MeasuredSpeed, OfABusyMachine) {
  const MeasuredSpeed speed =
      measured_speed({{10, 10, 10, 10}, {10, 10, 10, 10}}, {{10, 90, 200, 180}, {10, 11, 10, 12}});
  EXPECT_EQ(speed.ratio(), 1);
  EXPECT_LT(speed.median_ratio(), 0.1);
  EXPECT_FALSE(speed.is_stable());
}

/// Wall and CPU time disagree: another process ran all the time.
TEST(MeasuredSpeed, OfAMachineThatIsShared) {
  const MeasuredSpeed speed =
      measured_speed({{20, 20, 20}, {10, 10, 10}}, {{10, 10, 10}, {10, 10, 10}});
  EXPECT_EQ(speed.ratio(), 2);
  EXPECT_EQ(speed.cpu_ratio(), 1);
  EXPECT_FALSE(speed.is_stable());
}

TEST(MeasuredSpeed, WithoutCpuTimesNothingIsStable) {
  EXPECT_FALSE(measured_speed({{1}, {0}}, {{1}, {0}}).is_stable());
}

TEST(MeasuredSpeed, BothTakeTurns) {
  EXPECT_THAT(
      [] {
        measured_speed({{1, 2}, {1, 2}}, {{1}, {1}});
      },
      ThrowsMessage<Error>("measured_speed: both models take turns; got 2 and 1 runs"));
}

}  // namespace
}  // namespace sparsebit::exports::test::speed_test
