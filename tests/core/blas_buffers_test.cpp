#include "sparsebit/core/blas_buffers.h"

#include "sparsebit/core/error.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <iostream>

namespace sparsebit::blas_buffers_test {
namespace {

/// Leaves this much address space beside what is taken already.
void leave_address_space(rlim_t bytes) {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t most = pages * 4096 + bytes;
  const struct rlimit limit { .rlim_cur = most, .rlim_max = most };
  setrlimit(RLIMIT_AS, &limit);
}

[[noreturn]] void reserve(int threads) {
  try {
    reserve_blas_buffers(threads);
  } catch (const Error& e) {
    std::cerr << e.what();
    std::_Exit(e.kind() == ErrorKind::TooLarge ? 1 : 2);
  }
  std::_Exit(0);
}

bool has_openblas() { return dlsym(RTLD_DEFAULT, "blas_memory_alloc") != nullptr; }

TEST(BlasBuffersDeathTest, AreRefusedWhereTheyDoNotFit) {
  if (!has_openblas()) GTEST_SKIP() << "the BLAS of this machine is not OpenBLAS";
  EXPECT_EXIT(leave_address_space(rlim_t{300} << 20);
              reserve(16), testing::ExitedWithCode(1), "16 threads need .* MB of address space");
}

TEST(BlasBuffersDeathTest, AreTakenWhereTheyFit) {
  EXPECT_EXIT(leave_address_space(rlim_t{900} << 20); reserve(2), testing::ExitedWithCode(0), "");
}

TEST(BlasBuffers, NothingIsTakenWithoutALimit) { EXPECT_NO_THROW(reserve_blas_buffers(1 << 20)); }

}  // namespace
}  // namespace sparsebit::blas_buffers_test
