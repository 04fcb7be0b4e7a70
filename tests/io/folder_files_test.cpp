#include "io/folder_files.h"

#include "core/temp_dir.h"
#include "sparsebit/core/error.h"
#include "sparsebit/io/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/fsuid.h>

#include <fstream>

namespace sparsebit::io::folder_files_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

void touch(const fs::path& file) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << "x";
}

/// Takes the right of root to read everything from this thread.
class NobodysRights {
 public:
  NobodysRights() : before_(::setfsuid(65534)) {}
  ~NobodysRights() { ::setfsuid(static_cast<uid_t>(before_)); }
  NobodysRights(const NobodysRights&) = delete;
  NobodysRights& operator=(const NobodysRights&) = delete;

 private:
  int before_;
};

TEST(FolderFiles, AreSortedAndFromAllLevels) {
  const test::TempDir dir;
  for (const char* name : {"b", "a/z", "a/y/x"}) touch(dir / name);
  const FolderFiles found = files_in(dir.path());
  EXPECT_THAT(found.files, ElementsAre(dir / "a/y/x", dir / "a/z", dir / "b"));
  EXPECT_THAT(found.notes, IsEmpty());
}

TEST(FolderFiles, LinksThatLeadNowhereAreNoted) {
  const test::TempDir dir, other;
  touch(dir / "a.png");
  touch(other / "c.png");
  fs::create_symlink("circle.png", dir / "circle.png");
  fs::create_symlink("gone", dir / "dangling.png");
  fs::create_symlink(other / "c.png", dir / "linked.png");
  fs::create_directory_symlink(dir.path(), dir / "loop");
  const FolderFiles found = files_in(dir.path());
  EXPECT_THAT(found.files, ElementsAre(dir / "a.png", dir / "linked.png"));
  EXPECT_THAT(
      found.notes,
      ElementsAre((dir / "circle.png").string() +
                      ": skipped: the link does not lead to a regular file (Too many levels of "
                      "symbolic links)",
                  (dir / "dangling.png").string() + ": skipped: broken link",
                  (dir / "loop").string() + ": skipped: links to folders are not followed"));
}

TEST(FolderFiles, ManyNotesAreCounted) {
  const test::TempDir dir;
  for (int i = 0; i < 9; ++i) fs::create_symlink("gone", dir / std::to_string(i));
  const FolderFiles found = files_in(dir.path());
  ASSERT_EQ(found.notes.size(), 6u);
  EXPECT_EQ(found.notes.back(), "4 more skipped");
}

TEST(FolderFiles, FoldersWithoutPermissionAreNoted) {
  const test::TempDir dir;
  fs::permissions(dir.path(), fs::perms::all);
  touch(dir / "a.png");
  touch(dir / "secret/b.png");
  fs::permissions(dir / "secret", fs::perms::none);
  {
    const NobodysRights rights;
    const FolderFiles found = files_in(dir.path());
    EXPECT_THAT(found.files, ElementsAre(dir / "a.png"));
    EXPECT_THAT(found.notes,
                ElementsAre((dir / "secret").string() + ": skipped: Permission denied"));
    EXPECT_THAT([&] { files_in(dir / "secret"); },
                ThrowsMessage<Error>(HasSubstr("secret: the folder cannot be read (Permission")));
  }
  fs::permissions(dir / "secret", fs::perms::all);
}

TEST(FolderFiles, ADataSetTellsWhatIsLeftOut) {
  const test::TempDir dir;
  touch(dir / "cat/a.png");
  touch(dir / "dog/b.png");
  fs::create_symlink("circle.png", dir / "dog/circle.png");
  const auto data = open_dataset(dir.path());
  EXPECT_EQ(data->size(), 2);
  EXPECT_THAT(data->classes(), ElementsAre("cat", "dog"));
  EXPECT_THAT(data->notes(), ElementsAre(HasSubstr("dog/circle.png: skipped")));
}

TEST(FolderFiles, ACircleIsNoDataSet) {
  const test::TempDir dir;
  fs::create_symlink("circle", dir / "circle");
  EXPECT_THAT([&] { open_dataset(dir / "circle"); },
              ThrowsMessage<Error>((dir / "circle").string() +
                                   ": cannot be read (Too many levels of symbolic links)"));
  EXPECT_THAT([&] { open_dataset(dir.path()); },
              ThrowsMessage<Error>(HasSubstr("contains no images")));
}

TEST(FolderFiles, NamesThatAreTooLongAreNotThere) {
  const test::TempDir dir;
  EXPECT_FALSE(is_there(dir / std::string(5000, 'x')));
  std::ofstream(dir / "list.txt") << std::string(3000, 'x') << ".png\n";
  EXPECT_THAT([&] { open_dataset(dir / "list.txt"); },
              ThrowsMessage<Error>(HasSubstr("list.txt:1: no such image 'xxx")));
}

}  // namespace
}  // namespace sparsebit::io::folder_files_test
