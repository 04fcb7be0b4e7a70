#include "sparsebit/core/parallel.h"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace sparsebit::parallel_test {
namespace {

TEST(Parallel, EveryIndexIsWorkedOnOnce) {
  for (const int workers : {1, 2, 5}) {
    std::vector<std::atomic<int>> calls(100);
    std::atomic<int> highest = 0;
    parallel_for(100, workers, [&](int64_t i, int worker) {
      ++calls[i];
      if (worker > highest) highest = worker;
      EXPECT_EQ(at::get_num_threads(), 1);
    });
    for (const auto& count : calls) EXPECT_EQ(count, 1);
    EXPECT_LT(highest, workers);
  }
  parallel_for(0, 4, [](int64_t, int) { FAIL(); });
}

TEST(Parallel, TheNumberOfThreadsIsAsBefore) {
  at::set_num_threads(2);
  parallel_for(3, 2, [](int64_t, int) {});
  EXPECT_EQ(at::get_num_threads(), 2);
  {
    const OneThread one;
    EXPECT_EQ(at::get_num_threads(), 1);
  }
  EXPECT_EQ(at::get_num_threads(), 2);
}

TEST(Parallel, TheErrorOfTheLowestIndexIsThrown) {
  for (const int workers : {1, 3}) {
    const auto fail_from_4 = [&] {
      parallel_for(1000, workers, [](int64_t i, int) {
        if (i >= 4) throw std::runtime_error(std::to_string(i));
      });
    };
    EXPECT_THAT(fail_from_4, testing::ThrowsMessage<std::runtime_error>("4"));
  }
}

}  // namespace
}  // namespace sparsebit::parallel_test
