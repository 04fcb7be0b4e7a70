#include "core/spawn.h"

#include "core/temp_dir.h"
#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/child_process.h"
#include "sparsebit/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

namespace sparsebit::spawn_test {
namespace {

using testing::ThrowsMessage;

TEST(Spawn, WhatCannotBeStartedIsAnError) {
  const test::TempDir dir;
  write_file_atomically(dir / "text", "no program");
  const auto start = [](const std::string& program) { spawn({program}, {}); };
  EXPECT_THAT([&] { start("no-such-program"); },
              ThrowsMessage<Error>("cannot start 'no-such-program': No such file or directory"));
  const std::string file = dir / "text", folder = dir.path();
  EXPECT_THAT([&] { start(file); },
              ThrowsMessage<Error>("cannot start '" + file + "': Permission denied"));
  EXPECT_THAT([&] { start(folder); },
              ThrowsMessage<Error>("cannot start '" + folder + "': Permission denied"));
}

/// Waits for a process that became ours when its parent died. Its end, or nothing after half a
/// minute.
std::optional<int> end_of(pid_t pid) {
  for (int i = 0; i < 3000; ++i) {
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) == pid) return status;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return std::nullopt;
}

TEST(Spawn, DiesWithItsParent) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::array<int, 2> pipe;
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    ChildProcess child({"sh", "-c", "trap '' TERM INT HUP; echo $$; while :; do sleep 0.05; done"});
    const pid_t pid = std::stoi(child.receive_line());
    [[maybe_unused]] const ssize_t told = ::write(pipe[1], &pid, sizeof pid);
    for (;;) ::pause();
  }
  pid_t child = 0;
  ASSERT_EQ(::read(pipe[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  EXPECT_EQ(::kill(child, 0), 0);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  const std::optional<int> status = end_of(child);
  if (!status) ::kill(child, SIGKILL);
  ASSERT_TRUE(status) << "it is still there";
  EXPECT_EQ(WTERMSIG(*status), SIGKILL);
  ::close(pipe[0]);
  ::close(pipe[1]);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST(SpawnDeathTest, OurOwnStreamsMayBeClosed) {
  EXPECT_EXIT(
      {
        ::close(STDIN_FILENO);
        ::close(STDOUT_FILENO);
        ChildProcess cat({"cat"});
        cat.send("text\n");
        std::_Exit(cat.receive_line() == "text" ? 7 : 1);
      },
      testing::ExitedWithCode(7), "");
}

TEST(Spawn, ChildrenInheritIgnoredSignalsAndNoBlockedOnes) {
  std::signal(SIGUSR2, SIG_IGN);
  ChildProcess shell({"sh", "-c", "kill -USR2 $$; echo alive; kill -TERM $$; echo not blocked"});
  EXPECT_EQ(shell.receive_line(), "alive");
  EXPECT_THROW(shell.receive_line(), Error);
  std::signal(SIGUSR2, SIG_DFL);
}

}  // namespace
}  // namespace sparsebit::spawn_test
