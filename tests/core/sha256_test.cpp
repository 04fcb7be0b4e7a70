#include "sparsebit/core/sha256.h"

#include "core/temp_dir.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"

#include <gtest/gtest.h>

namespace sparsebit::sha256_test {
namespace {

// The examples of FIPS 180-2.
TEST(Sha256, KnownSums) {
  EXPECT_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, PiecesAreTheWhole) {
  Sha256 sum;
  sum.add("a", 1);
  EXPECT_EQ(sum.hex(), sha256_of("a"));
  sum.add("bc", 2);
  EXPECT_EQ(sum.hex(), sha256_of("abc"));
}

TEST(Sha256, OfFiles) {
  const test::TempDir dir;
  write_file_atomically(dir / "f", "abc");
  EXPECT_EQ(sha256_of_file(dir / "f"), sha256_of("abc"));
  EXPECT_THROW(sha256_of_file(dir / "none"), Error);
}

}  // namespace
}  // namespace sparsebit::sha256_test
