#include "sparsebit/io/preprocess.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/named_tensors.h"
#include "sparsebit/io/npy.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

namespace sparsebit::io::preprocess_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

Preprocess read(const std::string& text) { return read_preprocess(parse_yaml(text, "p.yaml")); }

at::Tensor image(int64_t height, int64_t width) {
  return at::arange(3 * height * width).remainder(251).to(at::kByte).view({3, height, width});
}

TEST(Preprocess, ImageNet) {
  const at::Tensor x = preprocess_preset("imagenet").apply(image(300, 400));
  EXPECT_EQ(x.sizes(), at::IntArrayRef({3, 224, 224}));
  EXPECT_EQ(x.scalar_type(), at::kFloat);
  // The shorter side is 256 already: without resizing, all values are known.
  const at::Tensor raw = image(256, 300);
  const at::Tensor y = preprocess_preset("imagenet").apply(raw);
  const double expected = (raw[1][16 + 5][38 + 7].item<double>() / 255 - 0.456) / 0.224;
  EXPECT_NEAR(y[1][5][7].item<double>(), expected, 1e-6);
}

// The filter's support grows with the reduction, so that no pixel is skipped.
TEST(Preprocess, ResizingFiltersBeforeItPicks) {
  at::Tensor raw = at::zeros({1, 2, 8}, at::kByte);
  raw[0][0][0] = raw[0][1][0] = 255;
  const at::Tensor x = read("resize: [1, 2]").apply(raw);
  EXPECT_GT(x[0][0][0].item<double>(), 20);  // the one bright column is not lost
  EXPECT_EQ(x[0][0][1].item<double>(), 0);
  EXPECT_EQ(x[0][0][0].item<double>(), std::round(x[0][0][0].item<double>()));
}

TEST(Preprocess, EveryKey) {
  const Preprocess all = read(
      "resize: 6\ncrop: [4, 2]\nchannels: bgr\nscale: 2\nmean: [1, 2, 3]\nstd: 2\nlayout: hwc\n");
  const at::Tensor raw = image(6, 8);
  const at::Tensor x = all.apply(raw);
  EXPECT_EQ(x.sizes(), at::IntArrayRef({4, 2, 3}));
  const double expected = (raw[2][1 + 1][3 + 1].item<double>() * 2 - 1) / 2;
  EXPECT_NEAR(x[1][1][0].item<double>(), expected, 1e-5);
  EXPECT_EQ(read(all.describe()).describe(), all.describe());
  for (const PreprocessPreset& preset : preprocess_presets()) {
    EXPECT_EQ(read(preset.settings.describe()), preset.settings) << preset.name;
    EXPECT_FALSE(preset.summary.empty()) << preset.name;
  }
}

TEST(Preprocess, ArraysThatAreNoImages) {
  const at::Tensor x = at::tensor({1., 2.});
  EXPECT_TRUE(at::equal(preprocess_preset("none").apply(x), x.to(at::kFloat)));
  EXPECT_THAT([&] { preprocess_preset("imagenet").apply(x); },
              ThrowsMessage<Error>(HasSubstr("is not an image [channels, height, width]")));
  EXPECT_THAT(
      [&] {
        preprocess_preset("cifar10").apply(at::ones({1, 4, 4}));
      },
      ThrowsMessage<Error>(HasSubstr("mean or std has 3 values, which do not match the channels")));
  EXPECT_THAT([&] { read("crop: [9, 9]").apply(image(4, 4)); },
              ThrowsMessage<Error>(HasSubstr("an image of 4x4 is smaller than the crop, 9x9")));
}

TEST(Preprocess, WrongSettingsNameTheirLine) {
  EXPECT_THAT(
      [] { read("scale: 1\ncorp: [1, 2]"); },
      ThrowsMessage<Error>(StartsWith("p.yaml:2: corp: unknown key 'corp'; did you mean 'crop'")));
  EXPECT_THAT([] { read("crop: [1]"); },
              ThrowsMessage<Error>(HasSubstr("expected [height, width]")));
  EXPECT_THAT([] { read("std: 0"); }, ThrowsMessage<Error>(HasSubstr("expected numbers above 0")));
  EXPECT_THAT([] { read("layout: nhwc"); },
              ThrowsMessage<Error>(HasSubstr("expected chw or hwc, found 'nhwc'")));
  EXPECT_THAT([] { preprocess_preset("imagnet"); },
              ThrowsMessage<Error>("unknown preprocessing 'imagnet'; did you mean 'imagenet'?"));
  EXPECT_THAT([] { preprocess_preset("quux-8"); },
              ThrowsMessage<Error>(HasSubstr(
                  "unknown preprocessing 'quux-8'; known: imagenet, timm, vit, inception")));
  EXPECT_THAT([] { read("resize: 8\nletterbox: [8, 8]"); },
              ThrowsMessage<Error>(HasSubstr("resize, letterbox and crop_pct exclude each other")));
  EXPECT_THAT([] { read("crop_pct: 0.9"); },
              ThrowsMessage<Error>(HasSubstr("crop_pct needs crop")));
  EXPECT_THAT([] { read("letterbox: 8\npad: 32"); },
              ThrowsMessage<Error>(HasSubstr("letterbox cannot be combined with crop or pad")));
  EXPECT_THAT([] { read("interpolation: lanczos"); },
              ThrowsMessage<Error>(
                  HasSubstr("expected bilinear, bicubic, nearest or opencv, found 'lanczos'")));
  EXPECT_THAT([] { read("crop_pct: 1.5\ncrop: 8"); },
              ThrowsMessage<Error>(HasSubstr("expected a number above 0 and up to 1")));
}

// --- resizing ------------------------------------------------------------------------------------

/// The largest difference to the result of another library.
int64_t farthest(const at::Tensor& found, const at::Tensor& expected) {
  return (found.to(at::kInt) - expected.to(at::kInt)).abs().max().item<int64_t>();
}

/// Made by fixtures/make_resized.py with Pillow, OpenCV and ultralytics.
TEST(Preprocess, ResizesAsOtherLibrariesDo) {
  const NamedTensors made = load_npz(std::filesystem::path(SPARSEBIT_IO_FIXTURES) / "resized.npz");
  const at::Tensor& raw = *made.find("image");
  const std::map<std::string, std::string> sizes = {{"small", "[4, 7]"}, {"large", "[20, 18]"}};
  for (const auto& [name, size] : sizes) {
    // Pillow rounds to bytes between rows and columns; the others are computed the same way.
    for (const auto& [kind, most] :
         {std::pair("bilinear", 1), {"bicubic", 2}, {"nearest", 0}, {"opencv", 0}}) {
      const std::string settings =
          "resize: " + size + "\ninterpolation: " + kind + "\ndtype: uint8";
      EXPECT_LE(farthest(read(settings).apply(raw), *made.find(name + "_" + kind)), most)
          << name << " " << kind;
    }
    const std::string settings = "letterbox: " + size + "\ninterpolation: opencv\ndtype: uint8";
    EXPECT_EQ(farthest(read(settings).apply(raw), *made.find(name + "_letterbox")), 0) << name;
  }
}

/// Sizes of ultralytics' and YOLOX's own code for a 1080x810 and a 427x640 image.
TEST(Preprocess, Letterboxes) {
  const ImagePlacement center = preprocess_preset("yolo").placement(1080, 810);
  EXPECT_EQ(center.left, 80);
  EXPECT_EQ(center.top, 0);
  EXPECT_DOUBLE_EQ(center.scale_x, 480. / 810);
  EXPECT_EQ(center.height, 640);
  const Preprocess yolox = preprocess_preset("yolox").for_input(416, 416);
  const ImagePlacement corner = yolox.placement(427, 640);
  EXPECT_EQ(corner.left, 0);
  EXPECT_EQ(corner.top, 0);
  EXPECT_DOUBLE_EQ(corner.scale_y, 277. / 427);  // 277.55, rounded down
  const at::Tensor x = yolox.apply(at::full({3, 427, 640}, 7, at::kByte));
  EXPECT_EQ(x.sizes(), at::IntArrayRef({3, 416, 416}));
  EXPECT_EQ(x[0][276][0].item<double>(), 7);
  EXPECT_EQ(x[0][277][0].item<double>(), 114);
}

TEST(Preprocess, PadsToASizeOrAMultiple) {
  const at::Tensor raw = image(5, 6);
  const at::Tensor x = read("pad: [8, 8]\npad_value: 9").apply(raw);
  EXPECT_EQ(x.sizes(), at::IntArrayRef({3, 8, 8}));
  EXPECT_EQ(x[0][0][0].item<double>(), 9);
  EXPECT_TRUE(at::equal(x.narrow(1, 1, 5).narrow(2, 1, 6), raw.to(at::kFloat)));
  const at::Tensor y = read("pad: 4\nanchor: corner").apply(raw);
  EXPECT_EQ(y.sizes(), at::IntArrayRef({3, 8, 8}));
  EXPECT_TRUE(at::equal(y.narrow(1, 0, 5).narrow(2, 0, 6), raw.to(at::kFloat)));
  EXPECT_THAT(
      [&] { read("pad: [4, 9]").apply(raw); },
      ThrowsMessage<Error>(HasSubstr("an image of 5x6 is larger than the padded size, 4x9")));
}

/// placement() agrees with apply().
TEST(Preprocess, PlacementIsWhereThePixelsAre) {
  at::Tensor raw = at::zeros({3, 30, 40}, at::kByte);
  raw.narrow(1, 12, 6).narrow(2, 20, 4).fill_(255);  // y 12 to 18, x 20 to 24
  for (const char* settings :
       {"letterbox: [60, 60]\npad_value: 0", "letterbox: [60, 60]\npad_value: 0\nanchor: corner",
        "resize: 60\ncrop: [50, 44]", "resize: [90, 40]", "crop_pct: 0.8\ncrop: [24, 32]",
        "pad: 32\npad_value: 0"}) {
    const Preprocess preprocess = read(std::string(settings) + "\ninterpolation: nearest");
    const at::Tensor bright = (preprocess.apply(raw)[0] > 0).nonzero();
    const at::Tensor low = std::get<0>(bright.min(0)), high = std::get<0>(bright.max(0));
    const ImagePlacement at = preprocess.placement(30, 40);
    EXPECT_NEAR(low[0].item<double>(), 12 * at.scale_y + at.top, 1) << settings;
    EXPECT_NEAR(high[0].item<double>() + 1, 18 * at.scale_y + at.top, 1) << settings;
    EXPECT_NEAR(low[1].item<double>(), 20 * at.scale_x + at.left, 1) << settings;
    EXPECT_NEAR(high[1].item<double>() + 1, 24 * at.scale_x + at.left, 1) << settings;
    EXPECT_EQ(preprocess.apply(raw).size(1), at.height) << settings;
    EXPECT_EQ(preprocess.apply(raw).size(2), at.width) << settings;
  }
}

TEST(Preprocess, PresetsFollowTheModelsSize) {
  const Preprocess imagenet = preprocess_preset("imagenet").for_input(299, 299);
  EXPECT_EQ(imagenet.resize_short, 342);  // torchvision's own numbers for Inception
  EXPECT_EQ(imagenet.crop, (std::vector<int64_t>{299, 299}));
  const Preprocess wide = preprocess_preset("imagenet").for_input(256, 128);
  EXPECT_EQ(wide.apply(image(50, 70)).sizes(), at::IntArrayRef({3, 256, 128}));
  EXPECT_EQ(wide.apply(image(300, 20)).sizes(), at::IntArrayRef({3, 256, 128}));
  EXPECT_EQ(preprocess_preset("tf").for_input(96, 96).resize, (std::vector<int64_t>{96, 96}));
  EXPECT_EQ(preprocess_preset("none").for_input(96, 96), Preprocess{});
}

TEST(Preprocess, BytesAndGray) {
  const at::Tensor raw = image(4, 4);
  const at::Tensor bytes = read("dtype: uint8\nlayout: hwc").apply(raw);
  EXPECT_EQ(bytes.scalar_type(), at::kByte);
  EXPECT_TRUE(at::equal(bytes, raw.permute({1, 2, 0})));
  EXPECT_THAT([&] { read("dtype: uint8\nscale: 0.5").apply(raw); },
              ThrowsMessage<Error>(HasSubstr("leave out scale, mean and std")));
  const at::Tensor gray = read("channels: gray").apply(raw);
  EXPECT_EQ(gray.sizes(), at::IntArrayRef({1, 4, 4}));
  const double luma = 0.299 * raw[0][1][2].item<double>() + 0.587 * raw[1][1][2].item<double>() +
                      0.114 * raw[2][1][2].item<double>();
  EXPECT_NEAR(gray[0][1][2].item<double>(), luma, 0.51);
}

}  // namespace
}  // namespace sparsebit::io::preprocess_test
