#include "sparsebit/core/mapped_file.h"

#include "core/temp_dir.h"
#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

namespace sparsebit::mapped_file_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(MappedFile, HoldsTheContents) {
  const test::TempDir dir;
  write_file_atomically(dir / "a", "some bytes");
  EXPECT_EQ(MappedFile(dir / "a").bytes(), "some bytes");
}

TEST(MappedFile, EmptyFileHasNoBytes) {
  const test::TempDir dir;
  write_file_atomically(dir / "a", "");
  EXPECT_EQ(MappedFile(dir / "a").size(), 0U);
}

TEST(MappedFile, WritingToTheMemoryLeavesTheFileAlone) {
  const test::TempDir dir;
  write_file_atomically(dir / "a", "some bytes");
  MappedFile file(dir / "a");
  file.data()[0] = 'X';
  EXPECT_EQ(file.bytes(), "Xome bytes");
  EXPECT_EQ(read_file(dir / "a"), "some bytes");
}

TEST(MappedFile, ADeviceIsAnError) {
  EXPECT_THAT([] { MappedFile("/dev/zero"); },
              ThrowsMessage<Error>(HasSubstr("/dev/zero: not a regular file")));
}

TEST(MappedFile, MissingFileAndFolderAreErrors) {
  const test::TempDir dir;
  EXPECT_THAT([&] { MappedFile(dir / "none"); },
              ThrowsMessage<Error>(HasSubstr("none: cannot read")));
  EXPECT_THAT([&] { MappedFile(dir.path()); }, ThrowsMessage<Error>(HasSubstr("cannot read")));
}

// --- files that become shorter ------------------------------------------------------------------

/// Maps a file, makes it shorter and reads its end.
char read_shrunk(const std::filesystem::path& path) {
  write_file_atomically(path, std::string(100'000, 'x'));
  const MappedFile file(path);
  std::filesystem::resize_file(path, 10);
  return file.bytes().back();
}

TEST(MappedFileDeathTest, AFileThatShrinksIsAnErrorOfPrograms) {
  const test::TempDir dir;
  EXPECT_EXIT(
      {
        report_shrunk_files();
        const MappedFile other("/proc/self/exe");
        read_shrunk(dir / "a\x1b[31m.onnx");
      },
      testing::ExitedWithCode(1),
      "^error: [^\x1b]*/a\\\\x1b\\[31m.onnx: the file became shorter while it was read; start "
      "again when "
      "it "
      "is complete and nothing writes to it\n$");
}

TEST(MappedFileDeathTest, UnfinishedFilesAreRemoved) {
  const test::TempDir dir;
  EXPECT_EXIT(
      {
        report_shrunk_files();
        AtomicFile output(dir / "output");
        output.stream() << "half" << std::flush;
        read_shrunk(dir / "input");
      },
      testing::ExitedWithCode(1), "input: the file became shorter");
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path()))
    files.push_back(entry.path().filename());
  EXPECT_THAT(files, testing::ElementsAre("input"));
}

TEST(MappedFileDeathTest, TheLibraryAloneLeavesSignalsAlone) {
  const test::TempDir dir;
  EXPECT_EXIT(
      {
        std::signal(SIGBUS, SIG_DFL);  // sanitizers have a handler
        read_shrunk(dir / "a");
      },
      testing::KilledBySignal(SIGBUS), "^$");
}

TEST(MappedFileDeathTest, OtherBusErrorsEndTheProcessAsByDefault) {
  const test::TempDir dir;
  const auto begin = [&] {
    report_shrunk_files();
    write_file_atomically(dir / "a", std::string(10'000, 'x'));
  };
  EXPECT_EXIT((begin(), std::raise(SIGBUS)), testing::KilledBySignal(SIGBUS), "^$");
  EXPECT_EXIT(
      {
        begin();
        const MappedFile file(dir / "a");
        const int shrinks = ::open((dir / "a").c_str(), O_RDWR);
        const auto* ours = static_cast<volatile char*>(
            ::mmap(nullptr, 10'000, PROT_READ, MAP_PRIVATE, shrinks, 0));
        std::filesystem::resize_file(dir / "a", 10);
        std::_Exit(ours[9'000]);  // not of a MappedFile
      },
      testing::KilledBySignal(SIGBUS), "^$");
}

TEST(MappedFileDeathTest, AFileThatWasClosedIsForgotten) {
  const test::TempDir dir;
  EXPECT_EXIT(
      {
        report_shrunk_files();
        write_file_atomically(dir / "a", "some bytes");
        for (int i = 0; i < 1000; ++i) MappedFile(dir / "a");
        read_shrunk(dir / "b");
      },
      testing::ExitedWithCode(1), "/b: the file became shorter");
}

}  // namespace
}  // namespace sparsebit::mapped_file_test
