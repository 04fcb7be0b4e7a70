#include "sparsebit/io/preprocess.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  // Without resizing, every number can be told: 256 high is the shorter side already.
  const at::Tensor raw = image(256, 300);
  const at::Tensor y = preprocess_preset("imagenet").apply(raw);
  const double expected = (raw[1][16 + 5][38 + 7].item<double>() / 255 - 0.456) / 0.224;
  EXPECT_NEAR(y[1][5][7].item<double>(), expected, 1e-6);
}

// A triangle as wide as the reduction, so that nothing is skipped.
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
  for (const std::string& name : preprocess_presets()) {
    const Preprocess preset = preprocess_preset(name);
    EXPECT_EQ(read(preset.describe()).describe(), preset.describe());
  }
}

TEST(Preprocess, ArraysThatAreNoImages) {
  const at::Tensor x = at::tensor({1., 2.});
  EXPECT_TRUE(at::equal(preprocess_preset("none").apply(x), x.to(at::kFloat)));
  EXPECT_THAT([&] { preprocess_preset("imagenet").apply(x); },
              ThrowsMessage<Error>(HasSubstr("is no image [channels, height, width]")));
  EXPECT_THAT(
      [&] {
        preprocess_preset("cifar10").apply(at::ones({1, 4, 4}));
      },
      ThrowsMessage<Error>(HasSubstr("there are 3 numbers for the channels")));
  EXPECT_THAT([&] { read("crop: [9, 9]").apply(image(4, 4)); },
              ThrowsMessage<Error>(HasSubstr("an image of 4x4 is smaller than the crop, 9x9")));
}

TEST(Preprocess, WrongSettingsNameTheirLine) {
  EXPECT_THAT([] { read("scale: 1\ncorp: [1, 2]"); },
              ThrowsMessage<Error>(
                  StartsWith("p.yaml:2: corp: there is no key 'corp'; did you mean 'crop'")));
  EXPECT_THAT([] { read("crop: [1]"); },
              ThrowsMessage<Error>(HasSubstr("expected [height, width]")));
  EXPECT_THAT([] { read("std: 0"); }, ThrowsMessage<Error>(HasSubstr("expected numbers above 0")));
  EXPECT_THAT([] { read("layout: nhwc"); },
              ThrowsMessage<Error>(HasSubstr("expected chw or hwc, found 'nhwc'")));
  EXPECT_THAT([] { preprocess_preset("imagnet"); },
              ThrowsMessage<Error>(HasSubstr("there are cifar10, imagenet, mnist, none")));
}

}  // namespace
}  // namespace sparsebit::io::preprocess_test
