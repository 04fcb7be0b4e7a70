// main() of every test program. On top of gtest's it knows CPU time, which other work on the
// machine does not lengthen as it does wall time:
//
// - SPARSEBIT_TEST_CPU_SECONDS=N ends the program after N seconds of CPU time and names the running
//   test. ctest sets it; without it, as in a debugger, there is no limit.
// - SPARSEBIT_TEST_TIMES=1 prints the CPU seconds of each test that takes more than half a second,
//   those of child processes (ONNX Runtime) included.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace sparsebit::test {
namespace {

std::array<char, 200> running = {};  // the name of the running test, for the signal handler

/// Only calls what a signal handler may call.
void tell_and_end(int signal) {
  const auto write_text = [](std::string_view text) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  };
  write_text("\nerror: SPARSEBIT_TEST_CPU_SECONDS are used up in ");
  write_text(running.data());
  write_text("\n");
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void limit_cpu_time(rlim_t seconds) {
  std::signal(SIGXCPU, tell_and_end);
  // The system kills a program that reaches the second limit: one that hangs in the handler.
  const rlimit limit{.rlim_cur = seconds, .rlim_max = seconds + 5};
  if (setrlimit(RLIMIT_CPU, &limit) != 0) std::perror("setrlimit(RLIMIT_CPU)");
}

double cpu_seconds() {
  double seconds = 0;
  for (const auto of : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(of, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime})
      seconds += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  }
  return seconds;
}

class CpuTimes : public testing::EmptyTestEventListener {
 public:
  void OnTestStart(const testing::TestInfo& info) override {
    const std::string name = std::string(info.test_suite_name()) + "." + info.name();
    running.fill('\0');
    std::copy_n(name.begin(), std::min(name.size(), running.size() - 1), running.begin());
    start_ = cpu_seconds();
  }

  void OnTestEnd(const testing::TestInfo&) override {
    const double seconds = cpu_seconds() - start_;
    if (prints_ && seconds > 0.5) std::printf("%8.1f CPU s  %s\n", seconds, running.data());
  }

 private:
  const bool prints_ = std::getenv("SPARSEBIT_TEST_TIMES") != nullptr;
  double start_ = 0;
};

}  // namespace
}  // namespace sparsebit::test

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new sparsebit::test::CpuTimes);
  if (const char* seconds = std::getenv("SPARSEBIT_TEST_CPU_SECONDS"))
    sparsebit::test::limit_cpu_time(std::strtoul(seconds, nullptr, 10));
  return RUN_ALL_TESTS();
}
