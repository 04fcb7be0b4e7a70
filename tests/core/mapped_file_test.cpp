#include "sparsebit/core/mapped_file.h"

#include "core/temp_dir.h"
#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace sparsebit::mapped_file_test
