#include "sparsebit/io/idx_file.h"

#include "core/temp_dir.h"
#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sparsebit::io::idx_file_test {
namespace {

using namespace std::string_literals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::ThrowsMessage;

class IdxFile : public testing::Test {
 protected:
  at::Tensor read(const std::string& bytes) {
    write_file_atomically(dir_ / "a", bytes);
    return load_idx(dir_ / "a");
  }

  test::TempDir dir_;
};

TEST_F(IdxFile, LabelsAndImages) {
  const at::Tensor expected = at::arange(6).to(at::kByte);
  EXPECT_TRUE(at::equal(read("\0\0\x08\x01\0\0\0\x06\0\x01\x02\x03\x04\x05"s), expected));
  EXPECT_TRUE(at::equal(read("\0\0\x08\x02\0\0\0\x02\0\0\0\x03\0\x01\x02\x03\x04\x05"s),
                        expected.reshape({2, 3})));
}

TEST_F(IdxFile, GzipIsToldByContent) {
  // `gzip -n` of the labels 7, 8
  const std::string compressed =
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x63\x60\xe0\x60\x64\x60\x60\x60\x62\xe7"
      "\x00\x00\xec\xb2\x06\xd4\x0a\x00\x00\x00"s;
  EXPECT_TRUE(at::equal(read(compressed), at::tensor({7, 8}).to(at::kByte)));

  std::string damaged = compressed;
  damaged[12] = '\xff';
  EXPECT_THAT([&] { read(damaged); },
              ThrowsMessage<Error>(HasSubstr("a: the compressed data is damaged: ")));
}

TEST_F(IdxFile, BadFilesAreErrors) {
  EXPECT_THAT([&] { read("hello world"); },
              ThrowsMessage<Error>(EndsWith("a: not an idx file of unsigned bytes")));
  EXPECT_THAT([&] { read("\0\0\x08\x01\0\0\0\x06\0"s); },
              ThrowsMessage<Error>(EndsWith("a: truncated file")));
  EXPECT_THAT([&] { read("\0\0\x08\x02\xff\xff\xff\xff\xff\xff\xff\xff"s); },
              ThrowsMessage<Error>(EndsWith("a: its size overflows 64 bits")));
  EXPECT_THAT([&] { read("\0\0\x08\x03\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0"s); },
              ThrowsMessage<Error>(EndsWith("a: its size overflows 64 bits")));
  EXPECT_THAT([&] { read("\0\0\x08\x02\x7f\xff\xff\xff\x00\x00\xff\xff"s); },
              ThrowsMessage<Error>(EndsWith("a: truncated file")));
}

}  // namespace
}  // namespace sparsebit::io::idx_file_test
