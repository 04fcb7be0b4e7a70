#include "easy/prepared_data.h"

#include "core/temp_dir.h"
#include "sparsebit/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace sparsebit::easy::test::prepared_data_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

TEST(PreparedData, TheTokenizerIsInTheModelsFolderOrItsParent) {
  const sparsebit::test::TempDir dir;
  const std::filesystem::path root = dir.path();
  write(root / "onnx/model.onnx", "");
  const std::string model = root / "onnx/model.onnx";
  EXPECT_EQ(tokenizer_beside(model), "");
  write(root / "vocab.txt", "");
  EXPECT_EQ(tokenizer_beside(model), root / "vocab.txt");
  write(root / "onnx/tokenizer.json", "{}");
  EXPECT_EQ(tokenizer_beside(model), root / "onnx/tokenizer.json");
  EXPECT_EQ(tokenizer_beside("zoo:bert"), "");
}

TEST(PreparedData, PreprocessingIsAPresetOrAFile) {
  EXPECT_THAT(preset_names(), testing::StartsWith("imagenet, "));
  EXPECT_EQ(preprocess_of("imagenet"), io::preprocess_preset("imagenet"));
  EXPECT_THAT([] { preprocess_of("gone.yaml"); },
              ThrowsMessage<Error>(HasSubstr("unknown preprocessing 'gone.yaml'")));
}

}  // namespace
}  // namespace sparsebit::easy::test::prepared_data_test
