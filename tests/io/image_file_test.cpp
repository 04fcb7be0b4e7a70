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

/// A BMP file of one row; its pixels are blue, green, red.
std::string bitmap(int32_t width, int32_t height, const std::string& pixels) {
  const auto number = [](uint64_t value, int bytes) {  // little-endian
    std::string text;
    for (int i = 0; i < bytes; ++i, value /= 256) text += static_cast<char>(value % 256);
    return text;
  };
  return "BM" + number(54 + pixels.size(), 4) + number(0, 4) + number(54, 4) + number(40, 4) +
         number(static_cast<uint64_t>(width), 4) + number(static_cast<uint64_t>(height), 4) +
         number(1, 2) + number(24, 2) + number(0, 24) + pixels;
}

TEST(ImageFile, PixelsAreRedGreenBlueByChannel) {
  const test::TempDir dir;
  write_file_atomically(dir / "a.bmp",
                        bitmap(2, 1, std::string("\x1E\x14\x0A\xDC\xD2\xC8\0\0", 8)));
  const at::Tensor expected = at::tensor({10, 200, 20, 210, 30, 220}).reshape({3, 1, 2});
  EXPECT_TRUE(at::equal(load_image(dir / "a.bmp"), expected.to(at::kByte)));
}

TEST(ImageFile, EveryKindIsDecoded) {
  const std::filesystem::path folder = SPARSEBIT_IMAGES;
  for (const char* name : {"color.png", "gray.png", "palette.png", "bits.png", "alpha.png",
                           "color.jpg", "progressive.jpg", "color.bmp"}) {
    EXPECT_EQ(load_image(folder / name).sizes(), at::IntArrayRef({3, 6, 8})) << name;
  }
  EXPECT_EQ(load_image(folder / "turned.jpg").sizes(), at::IntArrayRef({3, 8, 6}));
  EXPECT_TRUE(at::equal(load_image(folder / "color.png"), load_image(folder / "color.bmp")));
}

TEST(ImageFile, WhatIsNoImageIsAnErrorThatNamesIt) {
  const test::TempDir dir;
  const auto expect_error = [&](const std::string& bytes, const std::string& text) {
    write_file_atomically(dir / "a.png", bytes);
    EXPECT_THAT([&] { load_image(dir / "a.png"); }, ThrowsMessage<Error>(EndsWith(text)));
  };
  for (const std::string bytes : {"", "hello", "\xFF\xD8\xFF\xE0", "BM", "P6 1 1 255\n"})
    expect_error(bytes, "a.png: not a JPEG, PNG or BMP image");
  expect_error(bitmap(2, 1, ""), "a.png: the image cannot be decoded");
  expect_error(bitmap(90000, -90000, ""),
               "a.png: 54 bytes cannot hold the 90000x90000 pixels that its header declares");
  // A PNG file of 30000x30000 pixels, and as many bytes as that takes at least.
  const std::string png("\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR\0\0\x75\x30\0\0\x75\x30\x08\x02\0\0\0",
                        29);
  expect_error(png + std::string(120'000, '\0'),
               "a.png: the image has 30000x30000 pixels; at most 268435456 (2^28) are read");
  for (const char* name : {"color.jpg", "progressive.jpg"}) {
    const std::string whole = read_file(std::filesystem::path(SPARSEBIT_IMAGES) / name);
    expect_error(whole.substr(0, whole.size() - 20), "a.png: truncated JPEG file");
  }
  EXPECT_THAT([&] { load_image(dir / "none.png"); },
              ThrowsMessage<Error>(HasSubstr("cannot read")));
}

}  // namespace
}  // namespace sparsebit::io::image_file_test
