#include "sparsebit/data/guess_preprocess.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::data::guess_preprocess_test {
namespace {

using Shape = std::vector<int64_t>;

/// The facts of a model, and the expected guess.
struct Row {
  Shape input;
  std::vector<ModelFacts::Output> outputs;
  std::string preset;
  std::string because;
  std::string input_name = "images";
  std::map<std::string, std::string> metadata = {};
  std::string other_input = {};
};

InputSpec spec(const std::string& name, const Shape& shape, at::ScalarType type = at::kFloat) {
  return {name, fx::TensorInfo{shape, type}};
}

const std::map<std::string, std::string> kDetector = {{"author", "Ultralytics"},
                                                      {"task", "detect"}};
const std::map<std::string, std::string> kClassifier = {{"author", "Ultralytics"},
                                                        {"task", "classify"}};

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {{-1, 3, 224, 224},
       {{"logits", {-1, 1000}}},
       "imagenet",
       "a 3x224x224 input and 1000 classes"},
      {{1, 3, 299, 299}, {{"logits", {1, 1000}}}, "imagenet", "a 3x299x299 input and 1000 classes"},
      {{-1, 3, -1, -1}, {{"logits", {-1, 1000}}}, "imagenet", "a 3x?x? input and 1000 classes"},
      {{1, 3, 256, 256}, {{"mask", {1, 21, 256, 256}}}, "imagenet", "a 3x256x256 input alone"},
      {{1, 3, 224, 224}, {{"out", {}}}, "imagenet", "a 3x224x224 input alone"},
      {{1, 3, 32, 32}, {{"logits", {1, 10}}}, "cifar10", "a 3x32x32 input and 10 classes"},
      {{1, 3, 32, 32}, {{"logits", {}}}, "cifar10", "a 3x32x32 input"},
      {{-1, 1, 28, 28}, {{"logits", {-1, 10}}}, "mnist", "a 1x28x28 input and 10 classes"},
      {{1, 224, 224, 3}, {{"probs", {1, 1000}}}, "tf", "a 224x224x3 input and 1000 classes"},
      {{1, 3, 224, 224}, {{"probs", {1, 1001}}}, "tf", "a 3x224x224 input and 1001 classes"},
      {{1, 3, 416, 416},
       {{"output", {1, 3549, 85}}},
       "yolox",
       "a 3x416x416 input and 3549 boxes of 85 numbers"},
      {{1, 3, 640, 640},
       {{"output", {1, 25200, 85}}},
       "yolo",
       "a 3x640x640 input and 25200 boxes of 85 numbers"},
      {{1, 3, 640, 640},
       {{"output0", {1, 84, 8400}}},
       "yolo",
       "a 3x640x640 input and 8400 boxes of 84 numbers"},
      {{1, 3, 640, 640},
       {{"output0", {1, 116, 8400}}, {"output1", {1, 32, 160, 160}}},
       "yolo",
       "a 3x640x640 input and 8400 boxes of 116 numbers"},
      {{1, 3, 640, 640},
       {{"output0", {1, 300, 6}}},
       "yolo",
       "a 3x640x640 input and 300 boxes of 6 numbers"},
      {{1, 3, -1, -1},
       {{"output0", {1, 84, -1}}},
       "yolo",
       "a 3x?x? input and ultralytics' metadata, task detect",
       "images",
       kDetector},
      {{1, 3, 224, 224},
       {{"output0", {1, 1000}}},
       "yolo-cls",
       "a 3x224x224 input and ultralytics' metadata, task classify",
       "images",
       kClassifier},
      {{-1, 3, 224, 224},
       {{"image_embeds", {-1, 512}}},
       "clip",
       "a 3x224x224 input and the names pixel_values and image_embeds",
       "pixel_values"},
      {{-1, 3, 224, 224},
       {{"logits_per_image", {-1, -1}}},
       "clip",
       "a 3x224x224 input and the inputs pixel_values and input_ids",
       "pixel_values",
       {},
       "input_ids"},
      {{1, 3, 800, 800},
       {{"logits", {1, 100, 92}}, {"pred_boxes", {1, 100, 4}}},
       "detr",
       "a 3x800x800 input and the output pred_boxes",
       "pixel_values"},
      {{1, 3, 1200, 1200},
       {{"bboxes", {}}, {"labels", {}}, {"scores", {}}},
       "detr",
       "a 3x1200x1200 input and outputs of boxes, labels and scores"},
  };
  return all;
}

TEST(GuessPreprocess, Rules) {
  for (const Row& row : rows()) {
    SCOPED_TRACE(row.because);
    ModelFacts facts{.inputs = {spec(row.input_name, row.input)}, .outputs = row.outputs};
    facts.metadata = row.metadata;
    if (!row.other_input.empty())
      facts.inputs.push_back(spec(row.other_input, {-1, -1}, at::kLong));
    const PreprocessGuess guess = guess_preprocess(facts, facts.inputs.front());
    EXPECT_EQ(guess.preset, row.preset);
    EXPECT_EQ(guess.because, row.because);
    // A preprocessed image has the shape of the model's input.
    const at::Tensor x = guess.settings.apply(at::full({3, 50, 70}, 9, at::kByte));
    for (size_t axis = 1; axis < row.input.size(); ++axis) {
      if (row.input[axis] < 0) continue;
      EXPECT_EQ(x.size(static_cast<int64_t>(axis) - 1), row.input[axis]);
    }
  }
}

TEST(GuessPreprocess, ModelsThatNormalizeThemselves) {
  ModelFacts facts{.inputs = {spec("x", {1, 3, 224, 224})}, .outputs = {{"y", {1, 1000}}}};
  facts.own_ranges["x"] = 255;
  const PreprocessGuess bytes = guess_preprocess(facts, facts.inputs.front());
  EXPECT_EQ(bytes.because,
            "a 3x224x224 input and 1000 classes; not normalized, because the model "
            "itself normalizes pixels of 0..255");
  EXPECT_EQ(bytes.settings.scale, 1);
  EXPECT_TRUE(bytes.settings.mean.empty() && bytes.settings.std.empty());
  facts.own_ranges["x"] = 1;
  EXPECT_EQ(guess_preprocess(facts, facts.inputs.front()).settings.scale, 1. / 255);
}

TEST(GuessPreprocess, BytesStayBytes) {
  const InputSpec input = spec("x", {1, 224, 224, 3}, at::kByte);
  const ModelFacts facts{.inputs = {input}, .outputs = {{"y", {1, 1000}}}};
  const PreprocessGuess guess = guess_preprocess(facts, input);
  EXPECT_THAT(guess.because, testing::HasSubstr("not normalized, because the input is uint8"));
  const at::Tensor x = guess.settings.apply(at::full({3, 50, 70}, 9, at::kByte));
  EXPECT_EQ(x.scalar_type(), at::kByte);
  EXPECT_EQ(x.sizes(), at::IntArrayRef({224, 224, 3}));
}

TEST(GuessPreprocess, GrayModelsOfUnknownKind) {
  const InputSpec input = spec("x", {1, 1, 64, 64});
  const PreprocessGuess guess = guess_preprocess({.inputs = {input}}, input);
  const at::Tensor x = guess.settings.apply(at::full({3, 50, 70}, 255, at::kByte));
  EXPECT_EQ(x.sizes(), at::IntArrayRef({1, 64, 64}));
  EXPECT_NEAR(x.max().item<double>(), 1, 1e-6);
}

/// TorchScript files do not store the input shape.
TEST(GuessPreprocess, SmallImagesKeepTheirSizeForAnUnknownInput) {
  const InputSpec input{.name = "x"};
  const PreprocessGuess small = guess_preprocess({.inputs = {input}}, input, {3, 32, 32});
  EXPECT_EQ(small.preset, "cifar10");
  EXPECT_EQ(small.because, "3x32x32 images");
  const at::Tensor x = small.settings.apply(at::full({3, 32, 32}, 9, at::kByte));
  EXPECT_EQ(x.sizes(), at::IntArrayRef({3, 32, 32}));
  const PreprocessGuess large = guess_preprocess({.inputs = {input}}, input, {3, 300, 400});
  EXPECT_EQ(large.preset, "imagenet");
}

}  // namespace
}  // namespace sparsebit::data::guess_preprocess_test
