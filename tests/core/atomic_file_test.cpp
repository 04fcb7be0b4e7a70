#include "sparsebit/core/atomic_file.h"

#include "core/temp_dir.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/memory_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace sparsebit::atomic_file_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::ThrowsMessage;

class AtomicFileTest : public testing::Test {
 protected:
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(dir_.path())) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  test::TempDir dir_;
};

TEST_F(AtomicFileTest, AppearsOnlyWithCommit) {
  const fs::path target = dir_ / "a.txt";
  AtomicFile file(target);
  file.stream() << "hello " << 42;
  EXPECT_FALSE(fs::exists(target));
  file.commit();
  EXPECT_EQ(read_file(target), "hello 42");
  EXPECT_THAT(files(), ElementsAre("a.txt"));
}

TEST_F(AtomicFileTest, WithoutCommitNothingChanges) {
  const fs::path target = dir_ / "a.txt";
  write_file_atomically(target, "old");
  {
    AtomicFile file(target);
    file.stream() << "new" << std::flush;
    EXPECT_THAT(files(), ElementsAre("a.txt"));
  }
  EXPECT_EQ(read_file(target), "old");
  EXPECT_THAT(files(), ElementsAre("a.txt"));
}

TEST_F(AtomicFileTest, ReplacesAnExistingFile) {
  const fs::path target = dir_ / "a.txt";
  write_file_atomically(target, "a longer old text");
  write_file_atomically(target, "new");
  EXPECT_EQ(read_file(target), "new");
}

TEST_F(AtomicFileTest, KeepsAllBytesOfSmallAndLargeWrites) {
  std::string expected;
  AtomicFile file(dir_ / "a.bin");
  for (const size_t size : {1, 65535, 1, 2, 65536, 200000, 3, 0}) {
    const std::string block(size, static_cast<char>(expected.size() % 256));
    file.stream() << block;
    expected += block;
  }
  for (int i = 0; i < 70000; ++i) {
    file.stream().put(static_cast<char>(i));
    expected += static_cast<char>(i);
  }
  file.commit();
  EXPECT_TRUE(read_file(dir_ / "a.bin") == expected);
}

TEST_F(AtomicFileTest, LongNamesWork) {
  const std::string longest(255, 'x');
  write_file_atomically(dir_ / longest, "text");
  EXPECT_THAT(files(), ElementsAre(longest));
}

TEST_F(AtomicFileTest, NameWithoutFolderIsInTheCurrentFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(dir_.path());
  write_file_atomically("a.txt", "text");
  fs::current_path(before);
  EXPECT_EQ(read_file(dir_ / "a.txt"), "text");
}

TEST_F(AtomicFileTest, ModeFollowsTheUmask) {
  const mode_t before = ::umask(027);
  write_file_atomically(dir_ / "a.txt", "text");
  ::umask(before);
  struct stat info {};
  ASSERT_EQ(::stat((dir_ / "a.txt").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST_F(AtomicFileTest, SymbolicLinkIsReplacedNotFollowed) {
  write_file_atomically(dir_ / "a.txt", "old");
  fs::create_symlink(dir_ / "a.txt", dir_ / "link");
  write_file_atomically(dir_ / "link", "new");
  EXPECT_FALSE(fs::is_symlink(dir_ / "link"));
  EXPECT_EQ(read_file(dir_ / "a.txt"), "old");
}

TEST_F(AtomicFileTest, SecondCommitIsOurBug) {
  AtomicFile file(dir_ / "a.txt");
  file.commit();
  EXPECT_THAT([&] { file.commit(); },
              ThrowsMessage<Error>((dir_ / "a.txt").string() + ": committed twice"));
}

TEST_F(AtomicFileTest, MissingFolder) {
  const std::string folder = (dir_ / "missing").string();
  try {
    AtomicFile file(folder + "/a.txt");
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.what(), folder + "/a.txt: cannot create a file in '" + folder +
                            "': No such file or directory");
    EXPECT_EQ(e.kind(), ErrorKind::Io);
  }
}

TEST_F(AtomicFileTest, FolderThatIsAFile) {
  write_file_atomically(dir_ / "file", "");
  const std::string folder = (dir_ / "file").string();
  EXPECT_THAT([&] { AtomicFile(folder + "/a.txt"); },
              ThrowsMessage<Error>(folder + "/a.txt: cannot create a file in '" + folder +
                                   "': Not a directory"));
}

TEST_F(AtomicFileTest, TargetIsAFolder) {
  EXPECT_THAT([&] { AtomicFile file(dir_.path()); },
              ThrowsMessage<Error>(dir_.path().string() + ": cannot write: Is a directory"));
}

TEST_F(AtomicFileTest, DevicesAreNotReplaced) {
  EXPECT_THAT([] { write_file_atomically("/dev/null", "text"); },
              ThrowsMessage<Error>("/dev/null: cannot write: not a regular file"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(AtomicFileTest, NoPermission) {
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0555), 0);
  // Root may write everywhere, so run as an unprivileged user.
  const bool root = ::geteuid() == 0;
  if (root) {
    ASSERT_EQ(::seteuid(kNobody), 0);
  }
  std::string message;
  try {
    AtomicFile file(dir_ / "a.txt");
  } catch (const Error& e) {
    message = e.what();
  }
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0755), 0);
  EXPECT_EQ(message, (dir_ / "a.txt").string() + ": cannot create a file in '" +
                         dir_.path().string() + "': Permission denied");
}

// Simulates a full disk by a limit on file sizes (EFBIG instead of ENOSPC).
TEST_F(AtomicFileTest, FailedWriteIsReportedByCommitAndLeavesNothing) {
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const rlimit small{.rlim_cur = 100'000, .rlim_max = old_limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string message;
  {
    AtomicFile file(dir_ / "a.txt");
    for (int i = 0; i < 20'000; ++i) file.stream() << "ten bytes.";
    EXPECT_FALSE(file.stream());
    try {
      file.commit();
    } catch (const Error& e) {
      message = e.what();
    }
  }
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  ::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(message, (dir_ / "a.txt").string() + ": cannot write: File too large");
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(AtomicFileTest, StreamMarkedAsFailedIsNotCommitted) {
  AtomicFile file(dir_ / "a.txt");
  file.stream().setstate(std::ios::failbit);
  EXPECT_THAT(
      [&] { file.commit(); },
      ThrowsMessage<Error>((dir_ / "a.txt").string() + ": cannot write: the stream has failed"));
}

TEST_F(AtomicFileTest, TargetThatBecameAFolderCannotBeReplaced) {
  AtomicFile file(dir_ / "a");
  fs::create_directory(dir_ / "a");
  EXPECT_THAT([&] { file.commit(); },
              ThrowsMessage<Error>((dir_ / "a").string() + ": cannot replace: Is a directory"));
}

using ReadFile = AtomicFileTest;

TEST_F(ReadFile, ReturnsAllBytes) {
  const std::string bytes("a\0\r\n\xff", 5);
  std::ofstream(dir_ / "a.bin", std::ios::binary) << bytes;
  EXPECT_EQ(read_file(dir_ / "a.bin"), bytes);
  std::ofstream(dir_ / "empty");
  EXPECT_EQ(read_file(dir_ / "empty"), "");
}

TEST_F(ReadFile, ReadsFilesThatHaveNoSize) {
  EXPECT_EQ(read_file("/dev/null"), "");
  EXPECT_THAT(read_file("/proc/self/status"), testing::HasSubstr("Pid:"));
}

TEST_F(ReadFile, AnEndlessFileMeetsTheMemoryLimit) {
  limit_memory(memory_in_use() + (1 << 22));
  EXPECT_THAT([] { read_file("/dev/zero"); },
              ThrowsMessage<Error>(testing::HasSubstr("/dev/zero needs")));
  limit_memory(available_memory());
}

TEST_F(ReadFile, MissingFileAndFolder) {
  EXPECT_THAT([&] { read_file(dir_ / "missing"); },
              ThrowsMessage<Error>((dir_ / "missing").string() +
                                   ": cannot read: No such file or directory"));
  EXPECT_THAT([&] { read_file(dir_.path()); },
              ThrowsMessage<Error>(dir_.path().string() + ": cannot read: Is a directory"));
}

}  // namespace
}  // namespace sparsebit::atomic_file_test
