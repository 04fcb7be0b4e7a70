#include "core/temporary_names.h"

#include "core/descriptor.h"
#include "core/temp_dir.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace sparsebit::temporary_names_test {
namespace {

namespace fs = std::filesystem;

void make_old(const fs::path& path) {
  const struct timespec times[2] = {{.tv_sec = 1000, .tv_nsec = 0}, {.tv_sec = 1000, .tv_nsec = 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

fs::path old_file(const fs::path& path) {
  std::ofstream(path) << "half";
  make_old(path);
  return path;
}

TEST(TemporaryNames, AreHiddenAndDiffer) {
  const std::string name = temporary_name();
  EXPECT_TRUE(name.starts_with(".sparsebit-"));
  EXPECT_TRUE(name.ends_with(".tmp"));
  EXPECT_NE(name, temporary_name());
}

TEST(TemporaryNames, AbandonedFilesAndFoldersAreRemoved) {
  const test::TempDir dir;
  const fs::path file = old_file(dir / temporary_name()), folder = dir / temporary_name();
  fs::create_directory(folder);
  old_file(folder / "net.onnx");
  make_old(folder);
  remove_abandoned_temporaries(dir.path());
  EXPECT_FALSE(fs::exists(file));
  EXPECT_FALSE(fs::exists(folder));
}

TEST(TemporaryNames, APipeIsNotWaitedFor) {
  const test::TempDir dir;
  const fs::path pipe = dir / temporary_name();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  make_old(pipe);
  remove_abandoned_temporaries(dir.path());
  EXPECT_TRUE(fs::exists(pipe));
}

TEST(TemporaryNames, FilesOfALivingProcessStay) {
  const test::TempDir dir;
  const fs::path file = old_file(dir / temporary_name());
  const Descriptor owner(::open(file.c_str(), O_WRONLY));
  lock_temporary(owner.get());
  remove_abandoned_temporaries(dir.path());
  EXPECT_TRUE(fs::exists(file));
}

TEST(TemporaryNames, NewFilesAndThoseOfOtherNamesStay) {
  const test::TempDir dir;
  const fs::path fresh = dir / temporary_name(),
                 other = old_file(dir / ".sparsebit-notes-of-a-user.tmp");
  std::ofstream(fresh) << "half";
  remove_abandoned_temporaries(dir.path());
  EXPECT_TRUE(fs::exists(fresh));
  EXPECT_TRUE(fs::exists(other));
}

}  // namespace
}  // namespace sparsebit::temporary_names_test
