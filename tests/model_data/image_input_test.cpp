#include "sparsebit/data/image_input.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::data::image_input_test {
namespace {

std::string text_of(const std::vector<int64_t>& shape, at::ScalarType type = at::kFloat) {
  const auto image = image_input({"x", fx::TensorInfo{shape, type}});
  return image ? image->to_text() : "none";
}

TEST(ImageInput, ShapesOfImages) {
  EXPECT_EQ(text_of({-1, 3, 224, 224}), "3x224x224");
  EXPECT_EQ(text_of({1, 224, 192, 3}), "224x192x3");
  EXPECT_EQ(text_of({1, 3, -1, -1}), "3x?x?");
  EXPECT_EQ(text_of({1, 28, 28, 1}, at::kByte), "28x28x1");
  EXPECT_EQ(text_of({1, 64, 56, 56}), "none");  // feature maps, not images
  EXPECT_EQ(text_of({1, 128}), "none");
  EXPECT_EQ(text_of({1, 3, 8, 8}, at::kLong), "none");
}

TEST(ImageInput, PresetsFollowIt) {
  const io::Preprocess imagenet = io::preprocess_preset("imagenet");
  const auto floats = image_input({"x", fx::TensorInfo{{1, 96, 96, 3}, at::kFloat}});
  const io::Preprocess by_layout = fitted(imagenet, *floats);
  EXPECT_EQ(by_layout.layout, io::Preprocess::Layout::Hwc);
  EXPECT_EQ(by_layout.crop, (std::vector<int64_t>{96, 96}));
  EXPECT_EQ(by_layout.mean, imagenet.mean);
  const auto bytes = image_input({"x", fx::TensorInfo{{1, 3, 96, 96}, at::kByte}});
  const at::Tensor x = fitted(imagenet, *bytes).apply(at::full({3, 10, 20}, 200, at::kByte));
  EXPECT_TRUE(x.equal(at::full({3, 96, 96}, 200, at::kByte)));
}

}  // namespace
}  // namespace sparsebit::data::image_input_test
