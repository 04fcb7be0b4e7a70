#include "sparsebit/io/image_file.h"

#include "core/temp_dir.h"
#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::io::image_file_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(ImageFile, PixelsAreRedGreenBlueByChannel) {
  const test::TempDir dir;
  write_file_atomically(dir / "a.ppm", "P6 2 1 255\n\x0A\x14\x1E\xC8\xD2\xDC");
  const at::Tensor expected = at::tensor({10, 200, 20, 210, 30, 220}).reshape({3, 1, 2});
  EXPECT_TRUE(at::equal(load_image(dir / "a.ppm"), expected.to(at::kByte)));
}

TEST(ImageFile, WhatIsNoImageIsAnErrorThatNamesIt) {
  const test::TempDir dir;
  for (const std::string bytes : {"", "hello", "P6 99999 99999 255\n"}) {
    write_file_atomically(dir / "a.png", bytes);
    EXPECT_THAT([&] { load_image(dir / "a.png"); },
                ThrowsMessage<Error>(EndsWith("a.png: not an image that can be decoded")));
  }
  EXPECT_THAT([&] { load_image(dir / "none.png"); },
              ThrowsMessage<Error>(HasSubstr("cannot read")));
}

}  // namespace
}  // namespace sparsebit::io::image_file_test
