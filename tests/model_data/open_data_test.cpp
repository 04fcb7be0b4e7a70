#include "sparsebit/data/open_data.h"

#include "core/temp_dir.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/io/npy.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::data::open_data_test {
namespace {

using testing::HasSubstr;

const std::string kTokenizer = std::string(SPARSEBIT_TEXT_FIXTURES) + "/bert.json";

InputSpec spec(const std::string& name, std::vector<int64_t> shape, at::ScalarType type,
               std::vector<std::string> symbols = {}) {
  return {name, fx::TensorInfo{std::move(shape), type, std::move(symbols)}};
}

/// Inputs of a model that takes an image and its size.
std::vector<InputSpec> two_inputs() {
  return {spec("image", {-1, 1, 2, 2}, at::kFloat), spec("size", {-1, 2}, at::kLong)};
}

/// The inputs of BERT.
std::vector<InputSpec> token_inputs(int64_t length = -1) {
  const std::vector<std::string> names = {"batch", "sequence"};
  return {spec("input_ids", {-1, length}, at::kLong, names),
          spec("attention_mask", {-1, length}, at::kLong, names),
          spec("token_type_ids", {-1, length}, at::kLong, names)};
}

const at::Tensor& images() {
  static const at::Tensor x = at::arange(12).reshape({3, 1, 2, 2}).to(at::kFloat);
  return x;
}
const at::Tensor& sizes() {
  static const at::Tensor x = at::arange(6).reshape({3, 2});
  return x;
}

std::string error_of(const DataRequest& request, const std::vector<InputSpec>& inputs) {
  try {
    open_data(request, inputs);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void expect_both(const ModelData& data) {
  const ModelData::Batch batch = data.batch({0, 2});
  EXPECT_EQ(data.size(), 3);
  EXPECT_TRUE(batch.inputs.at(0).equal(images().index_select(0, at::tensor({0, 2}))));
  EXPECT_TRUE(batch.inputs.at(1).equal(sizes().index_select(0, at::tensor({0, 2}))));
}

TEST(OpenData, AFolderWithAFileOrFolderForEachInput) {
  const sparsebit::test::TempDir dir;
  io::save_npy(dir / "image.npy", images());
  EXPECT_THAT(error_of({.path = dir.path()}, two_inputs()),
              HasSubstr("contains neither a file size.npy nor a folder size"));
  io::save_npy(dir / "size.npy", sizes());
  expect_both(open_data({.path = dir.path()}, two_inputs()));
}

/// Written by numpy.savez(FILE, image=..., size=..., labels=...).
TEST(OpenData, AnArchiveWithAnArrayForEachInput) {
  const std::string file = std::string(SPARSEBIT_DATA_FIXTURES) + "/two_inputs.npz";
  const ModelData data = open_data({.path = file}, two_inputs());
  expect_both(data);
  EXPECT_THAT(data.batch({2}).labels, testing::ElementsAre(6));
  std::vector<InputSpec> three = two_inputs();
  three.push_back(spec("sizes", {-1, 2}, at::kLong));
  EXPECT_THAT(error_of({.path = file}, three),
              HasSubstr("contains no array 'sizes'; did you mean 'size'"));
  // Arrays are matched by name, also when another input is fixed.
  const ModelData one = open_data({.path = file, .fixed = {{"image", "ones"}}}, two_inputs());
  EXPECT_TRUE(one.batch({1}).inputs.at(1).equal(sizes().narrow(0, 1, 1)));
  EXPECT_THAT(error_of({.path = file, .labels = "l.tsv"}, two_inputs()),
              HasSubstr("l.tsv: label files are only supported for folders and lists of images"));
}

TEST(OpenData, AnInputThatIsTheSameForAllSamples) {
  const sparsebit::test::TempDir dir;
  io::save_npy(dir / "x.npy", images());
  const auto opened = [&](const std::string& value) {
    return open_data({.path = dir / "x.npy", .fixed = {{"size", value}}}, two_inputs())
        .batch({0, 1})
        .inputs.at(1);
  };
  EXPECT_TRUE(opened("ones").equal(at::ones({2, 2}, at::kLong)));
  EXPECT_TRUE(opened("224").equal(at::full({2, 2}, 224, at::kLong)));
  io::save_npy(dir / "size.npy", sizes().narrow(0, 1, 1));
  EXPECT_TRUE(opened((dir / "size.npy").string()).equal(at::tensor({2, 3, 2, 3}).reshape({2, 2})));
  EXPECT_THAT(
      error_of({.path = dir / "x.npy", .fixed = {{"size", "one"}}}, two_inputs()),
      HasSubstr("'one' is not a valid value; expected ones, zeros, a number or an existing file"));
  EXPECT_THAT(error_of({.path = dir / "x.npy"}, two_inputs()),
              HasSubstr("holds data for one input, but the model needs data for 2: image, size"));
}

TEST(OpenData, AManifest) {
  const sparsebit::test::TempDir dir;
  io::save_npy(dir / "images.npy", images());
  io::save_npy(dir / "numbers.npy", sizes());
  const auto write = [&](const std::string& text) { write_file_atomically(dir / "m.yaml", text); };
  write("inputs:\n  image: {data: images.npy, preprocess: none}\n  size: {data: numbers.npy}\n");
  expect_both(open_data({.path = dir / "m.yaml"}, two_inputs()));
  write("inputs:\n  image: {data: images.npy, preprocess: {scale: 2}}\n  size: {value: zeros}\n");
  const ModelData::Batch batch = open_data({.path = dir / "m.yaml"}, two_inputs()).batch({1});
  EXPECT_TRUE(batch.inputs.at(0).equal(images().narrow(0, 1, 1) * 2));
  EXPECT_TRUE(batch.inputs.at(1).equal(at::zeros({1, 2}, at::kLong)));
  write("inputs:\n  image: {data: images.npy, preprocess: {resize: 100, scal: 2}}\n");
  EXPECT_THAT(error_of({.path = dir / "m.yaml"}, two_inputs()), HasSubstr("scal"));
  write("inputs:\n  image: {dta: images.npy}\n");
  EXPECT_THAT(error_of({.path = dir / "m.yaml"}, two_inputs()),
              HasSubstr("m.yaml:2: inputs.image.dta: unknown key 'dta'; did you mean 'data'"));
}

TEST(OpenData, TextsForAllInputsOfTokens) {
  const sparsebit::test::TempDir dir;
  write_file_atomically(dir / "t.txt", "the scale\n\nof a layer, and its zero point\n");
  const DataRequest request{.path = dir / "t.txt", .tokenizer = kTokenizer};
  const ModelData open = open_data(request, token_inputs());
  EXPECT_EQ(open.size(), 2);
  EXPECT_TRUE(open.is_ragged());
  const ModelData::Batch batch = open.batch({0, 1});
  const at::Tensor lengths = batch.inputs.at(1).sum(1);
  EXPECT_LT(lengths[0].item<int64_t>(), lengths[1].item<int64_t>());
  EXPECT_EQ(batch.inputs.at(0).size(1), lengths[1].item<int64_t>());
  EXPECT_EQ(batch.inputs.at(0)[0][-1].item<int64_t>(), 0);  // [PAD]
  EXPECT_EQ(batch.inputs.at(2).sum().item<int64_t>(), 0);

  const ModelData fixed = open_data(request, token_inputs(6));
  EXPECT_FALSE(fixed.is_ragged());
  EXPECT_EQ(fixed.batch({0}).inputs.at(0).sizes(), at::IntArrayRef({1, 6}));
  EXPECT_THAT(fixed.notes(), testing::ElementsAre("1 of 2 texts are truncated to 6 tokens"));
}

TEST(OpenData, PairsAndLabelsOfJsonLines) {
  const sparsebit::test::TempDir dir;
  write_file_atomically(dir / "t.jsonl",
                        R"({"sentence1": "a layer", "sentence2": "a scale", "label": 1}
{"text": "zero point", "label": 0}
)");
  const DataRequest request{.path = dir / "t.jsonl", .tokenizer = kTokenizer};
  const ModelData data = open_data(request, token_inputs());
  const ModelData::Batch batch = data.batch({0, 1});
  EXPECT_THAT(batch.labels, testing::ElementsAre(1, 0));
  EXPECT_GT(batch.inputs.at(2)[0].sum().item<int64_t>(), 0);
  EXPECT_EQ(batch.inputs.at(2)[1].sum().item<int64_t>(), 0);
  write_file_atomically(dir / "t.jsonl", "{\"text\": \"a\"}\n{\"txt\": \"a\"}\n");
  EXPECT_THAT(error_of(request, token_inputs()), HasSubstr("t.jsonl:2: no text"));
  EXPECT_THAT(error_of({.path = dir / "t.jsonl"}, token_inputs()),
              HasSubstr("texts need a tokenizer"));
}

TEST(OpenData, InputsThatAreNoTokensAreNamed) {
  const sparsebit::test::TempDir dir;
  write_file_atomically(dir / "t.txt", "a layer\n");
  std::vector<InputSpec> inputs = token_inputs();
  inputs.push_back(spec("pixel_values", {-1, 3, 4, 4}, at::kFloat));
  const DataRequest request{.path = dir / "t.txt", .tokenizer = kTokenizer};
  EXPECT_THAT(error_of(request, inputs),
              HasSubstr("the input 'pixel_values' cannot be computed from texts"));
  DataRequest with_pixels = request;
  with_pixels.fixed = {{"pixel_values", "0.5"}};
  EXPECT_EQ(open_data(with_pixels, inputs).batch({0}).inputs.at(3).sizes(),
            at::IntArrayRef({1, 3, 4, 4}));
}

}  // namespace
}  // namespace sparsebit::data::open_data_test
