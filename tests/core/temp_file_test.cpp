#include "sparsebit/core/temp_file.h"

#include "sparsebit/core/atomic_file.h"

#include <gtest/gtest.h>

namespace sparsebit::temp_file_test {
namespace {

TEST(TempFile, GoesWithItsObject) {
  std::filesystem::path path;
  {
    const TempFile file(".onnx");
    path = file.path();
    EXPECT_EQ(path.extension(), ".onnx");
    EXPECT_TRUE(std::filesystem::exists(path));
    write_file_atomically(path, "what replaces it goes, too");
    write_file_atomically(path.string() + ".data", "and what lies beside it");
    EXPECT_NE(TempFile(".onnx").path(), path);
  }
  EXPECT_FALSE(std::filesystem::exists(path.parent_path()));
}

}  // namespace
}  // namespace sparsebit::temp_file_test
