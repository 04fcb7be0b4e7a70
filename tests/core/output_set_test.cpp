#include "sparsebit/core/output_set.h"

#include "core/temp_dir.h"
#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/interrupt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <set>

namespace sparsebit::output_set_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  return names;
}

TEST(OutputSet, NothingAppearsBeforeCommit) {
  const test::TempDir dir;
  OutputSet outputs;
  write_file_atomically(outputs.stage(dir / "net.onnx"), "model");
  write_file_atomically(outputs.stage(dir / "net.certificate.json"), "certificate");
  EXPECT_FALSE(fs::exists(dir / "net.onnx"));
  EXPECT_FALSE(fs::exists(dir / "net.certificate.json"));
  outputs.commit();
  EXPECT_EQ(read_file(dir / "net.onnx"), "model");
  EXPECT_EQ(read_file(dir / "net.certificate.json"), "certificate");
  EXPECT_THAT(names_in(dir.path()), ElementsAre("net.certificate.json", "net.onnx"));
}

TEST(OutputSet, WithoutCommitTheOldFilesStay) {
  const test::TempDir dir;
  write_file_atomically(dir / "net.onnx", "old");
  write_file_atomically(dir / "net.certificate.json", "old certificate");
  {
    OutputSet outputs;
    write_file_atomically(outputs.stage(dir / "net.onnx"), "new");
    outputs.remove_at_commit(dir / "net.certificate.json");
  }
  EXPECT_EQ(read_file(dir / "net.onnx"), "old");
  EXPECT_EQ(read_file(dir / "net.certificate.json"), "old certificate");
  EXPECT_EQ(names_in(dir.path()).size(), 2u);
}

TEST(OutputSet, FilesKeepTheirNamesAndWhatLiesBesideThemMovesToo) {
  const test::TempDir dir;
  OutputSet outputs;
  const fs::path staged = outputs.stage(dir / "net.onnx");
  EXPECT_EQ(staged.filename(), "net.onnx");
  write_file_atomically(staged, "model");
  write_file_atomically(staged.string() + ".data", "weights");
  outputs.commit();
  EXPECT_EQ(read_file(dir / "net.onnx.data"), "weights");
}

TEST(OutputSet, FilesOfSeveralFolders) {
  const test::TempDir one, two;
  OutputSet outputs;
  write_file_atomically(outputs.stage(one / "a"), "a");
  write_file_atomically(outputs.stage(two / "b"), "b");
  outputs.commit();
  EXPECT_THAT(names_in(one.path()), ElementsAre("a"));
  EXPECT_THAT(names_in(two.path()), ElementsAre("b"));
}

TEST(OutputSet, ACertificateOfTheReplacedFileGoes) {
  const test::TempDir dir;
  write_file_atomically(dir / "net.certificate.json", "of the old file");
  OutputSet outputs;
  write_file_atomically(outputs.stage(dir / "net.onnx"), "new");
  outputs.remove_at_commit(dir / "net.certificate.json");
  outputs.remove_at_commit(dir / "never there");
  outputs.commit();
  EXPECT_THAT(names_in(dir.path()), ElementsAre("net.onnx"));
}

TEST(OutputSet, AReplacedFileKeepsItsMode) {
  const test::TempDir dir;
  write_file_atomically(dir / "net.onnx", "old");
  ASSERT_EQ(::chmod((dir / "net.onnx").c_str(), 0600), 0);
  OutputSet outputs;
  write_file_atomically(outputs.stage(dir / "net.onnx"), "new");
  outputs.commit();
  EXPECT_EQ(fs::status(dir / "net.onnx").permissions(), fs::perms(0600));
}

TEST(OutputSet, StagedFilesAreNotReadableByOthers) {
  const test::TempDir dir;
  OutputSet outputs;
  const fs::path folder = outputs.stage(dir / "net.onnx").parent_path();
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms(0700));
}

TEST(OutputSet, AFailedCommitLeavesTheOldFiles) {
  const test::TempDir dir;
  write_file_atomically(dir / "net.onnx", "old");
  write_file_atomically(dir / "net.onnx.data", "old weights");
  write_file_atomically(dir / "net.certificate.json", "of the old file");
  {
    OutputSet outputs;
    const fs::path staged = outputs.stage(dir / "net.onnx");
    write_file_atomically(staged, "new");
    write_file_atomically(staged.string() + ".data", "new weights");
    write_file_atomically(outputs.stage(dir / "decisions.txt"), "new");
    outputs.stage(dir / "net.certificate.json");  // never written: its rename fails
    outputs.remove_at_commit(dir / "net.certificate.json");
    EXPECT_THAT([&] { outputs.commit(); },
                ThrowsMessage<Error>(HasSubstr("net.certificate.json: cannot replace: No such")));
  }
  EXPECT_EQ(read_file(dir / "net.onnx"), "old");
  EXPECT_EQ(read_file(dir / "net.onnx.data"), "old weights");
  EXPECT_EQ(read_file(dir / "net.certificate.json"), "of the old file");
  EXPECT_EQ(names_in(dir.path()).size(), 3u);
}

TEST(OutputSet, WeightsAndModelAreReplacedTogether) {
  const test::TempDir dir;
  for (const std::string text : {"old", "new"}) {
    OutputSet outputs;
    const fs::path staged = outputs.stage(dir / "net.onnx");
    write_file_atomically(staged, text);
    write_file_atomically(staged.string() + ".data", text + " weights");
    outputs.commit();
    EXPECT_EQ(read_file(dir / "net.onnx"), text);
    EXPECT_EQ(read_file(dir / "net.onnx.data"), text + " weights");
  }
  EXPECT_EQ(names_in(dir.path()).size(), 2u);
}

TEST(OutputSet, FoldersAndDevicesAreNotReplaced) {
  const test::TempDir dir;
  fs::create_directory(dir / "net.onnx");
  OutputSet outputs;
  EXPECT_THAT([&] { outputs.stage(dir / "net.onnx"); },
              ThrowsMessage<Error>(HasSubstr("net.onnx: cannot write: Is a directory")));
  EXPECT_THAT([&] { outputs.stage("/dev/null"); },
              ThrowsMessage<Error>("/dev/null: cannot write: not a regular file"));
  outputs.remove_at_commit(dir / "net.onnx");
  EXPECT_THROW(outputs.commit(), Error);
  EXPECT_TRUE(fs::is_directory(dir / "net.onnx"));
}

TEST(OutputSet, TwoOutputsOfOnePathAreAnError) {
  const test::TempDir dir;
  OutputSet outputs;
  outputs.stage(dir / "net.onnx");
  EXPECT_THAT([&] { outputs.stage(dir / "./net.onnx"); },
              ThrowsMessage<Error>(HasSubstr("net.onnx: two outputs have the same path")));
}

TEST(OutputSet, ErrorsNameTheTarget) {
  const test::TempDir dir;
  OutputSet outputs;
  const fs::path staged = outputs.stage(dir / "net.onnx");
  fs::create_directory(staged);
  EXPECT_THAT([&] { write_file_atomically(staged, "model"); },
              ThrowsMessage<Error>((dir / "net.onnx").string() + ": cannot write: Is a directory"));
  EXPECT_EQ(with_target_paths("cannot load '" + staged.string() + "'"),
            "cannot load '" + (dir / "net.onnx").string() + "'");
  EXPECT_EQ(with_target_paths(".sparsebit-can-be-written"), ".sparsebit-can-be-written");
}

TEST(OutputSet, AMissingFolderIsAnError) {
  const test::TempDir dir;
  OutputSet outputs;
  EXPECT_THAT(
      [&] { outputs.stage(dir / "missing/net.onnx"); },
      ThrowsMessage<Error>(HasSubstr("missing: cannot write to this folder: No such file")));
}

TEST(OutputSetDeathTest, AnInterruptRemovesAHiddenFolderInAnother) {
  const test::TempDir dir;
  EXPECT_EXIT(
      {
        clean_up_on_interrupt();
        OutputSet outer;
        OutputSet inner;
        write_file_atomically(inner.stage(outer.stage(dir / "net.onnx")), "model");
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
  EXPECT_THAT(names_in(dir.path()), IsEmpty());
}

TEST(OutputSetDeathTest, AnInterruptRemovesTheHiddenFolder) {
  const test::TempDir dir;
  EXPECT_EXIT(
      {
        clean_up_on_interrupt();
        OutputSet outputs;
        const fs::path staged = outputs.stage(dir / "net.onnx");
        write_file_atomically(staged, "model");
        write_file_atomically(staged.string() + ".data", "weights");
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
  EXPECT_THAT(names_in(dir.path()), IsEmpty());
}

}  // namespace
}  // namespace sparsebit::output_set_test
