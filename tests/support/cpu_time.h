#pragma once

#include <ctime>
#include <functional>

namespace sparsebit::test {

/// CPU seconds of this process that a call takes. Other work on the machine hardly changes them, as
/// it does wall time; a test that checks for exponential time compares them with a generous limit.
inline double cpu_seconds_of(const std::function<void()>& call) {
  const std::clock_t start = std::clock();
  call();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

}  // namespace sparsebit::test
