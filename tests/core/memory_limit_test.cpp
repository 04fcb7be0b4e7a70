#include "sparsebit/core/memory_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <memory>
#include <new>

namespace sparsebit::memory_limit_test {
namespace {

TEST(MemoryLimit, IsWhatTheMachineHas) {
  EXPECT_GT(available_memory(), 64ULL << 20);
  EXPECT_LT(available_memory(), 1ULL << 50);
}

#ifndef __SANITIZE_ADDRESS__
/// Two thirds of the memory twice, without ever touching it.
void allocate_too_much() {
  fail_beyond_available_memory();
  const size_t part = available_memory() / 3 * 2;
  try {
    const auto first = std::make_unique_for_overwrite<char[]>(part);
    const auto second = std::make_unique_for_overwrite<char[]>(part);
    std::exit(second ? 0 : 2);
  } catch (const std::bad_alloc&) {
    std::exit(1);
  }
}

TEST(MemoryLimitDeathTest, AllocationsBeyondItFail) {
  EXPECT_EXIT(allocate_too_much(), testing::ExitedWithCode(1), "");
}

TEST(MemoryLimitDeathTest, AStricterLimitOfTheUserStays) {
  const auto keep_the_limit = [] {
    struct rlimit limit = {};
    ::getrlimit(RLIMIT_DATA, &limit);
    limit.rlim_cur = 60 << 20;
    ::setrlimit(RLIMIT_DATA, &limit);
    fail_beyond_available_memory();
    ::getrlimit(RLIMIT_DATA, &limit);
    std::exit(limit.rlim_cur == 60 << 20 ? 0 : 1);
  };
  EXPECT_EXIT(keep_the_limit(), testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace sparsebit::memory_limit_test
