#include "sparsebit/core/interrupt.h"

#include "core/temp_dir.h"
#include "sparsebit/core/atomic_file.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <vector>

namespace sparsebit::interrupt_test {
namespace {

TEST(InterruptDeathTest, UnfinishedFilesAreRemovedAndTheProcessEnds) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const test::TempDir dir;
    write_file_atomically(dir / "old.txt", "old");
    EXPECT_EXIT(
        {
          std::signal(number, SIG_DFL);  // a program in the background ignores SIGINT
          clean_up_on_interrupt();
          AtomicFile first(dir / "old.txt");
          AtomicFile second(dir / "new.txt");
          first.stream() << "half";
          first.stream().flush();
          std::raise(number);
        },
        testing::KilledBySignal(number), "");
    EXPECT_EQ(read_file(dir / "old.txt"), "old");
    for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
      EXPECT_EQ(entry.path().filename(), "old.txt");
    }
  }
}

TEST(InterruptDeathTest, FinishedFilesStay) {
  const test::TempDir dir;
  EXPECT_EXIT(
      {
        std::signal(SIGINT, SIG_DFL);
        clean_up_on_interrupt();
        write_file_atomically(dir / "done.txt", "done");
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
  EXPECT_EQ(read_file(dir / "done.txt"), "done");
}

TEST(InterruptDeathTest, IgnoredSignalsStayIgnored) {
  EXPECT_EXIT(
      {
        std::signal(SIGHUP, SIG_IGN);
        clean_up_on_interrupt();
        std::raise(SIGHUP);
        std::_Exit(7);
      },
      testing::ExitedWithCode(7), "");
}

TEST(Interrupt, ManyUnfinishedFilesAreNoProblem) {
  const test::TempDir dir;
  std::vector<std::unique_ptr<AtomicFile>> files;
  for (int i = 0; i < 100; ++i) {
    files.push_back(std::make_unique<AtomicFile>(dir / std::to_string(i)));
  }
  files.clear();
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

}  // namespace
}  // namespace sparsebit::interrupt_test
