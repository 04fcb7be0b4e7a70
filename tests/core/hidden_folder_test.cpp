#include "core/hidden_folder.h"

#include "core/temp_dir.h"
#include "sparsebit/core/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::hidden_folder_test {
namespace {

namespace fs = std::filesystem;

TEST(HiddenFolder, IsPrivateAndGoesWithItsFiles) {
  const test::TempDir dir;
  fs::path path;
  {
    const HiddenFolder folder(dir.path());
    path = folder.path();
    EXPECT_EQ(path.parent_path(), folder.parent());
    EXPECT_EQ(fs::status(path).permissions(), fs::perms(0700));
    write_file_atomically(path / "b", "");
    write_file_atomically(path / "a", "");
    EXPECT_THAT(folder.files(), testing::ElementsAre("a", "b"));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(HiddenFolder, InTheWorkingFolderHasNoDot) {
  const HiddenFolder folder(".");
  EXPECT_EQ(folder.path().string().front(), '.');
  EXPECT_FALSE(folder.path().has_parent_path());
}

}  // namespace
}  // namespace sparsebit::hidden_folder_test
