#include "data/text_samples.h"

#include "core/temp_dir.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::data::text_samples_test {
namespace {

TEST(TextSamples, RolesByTheNamesOfExporters) {
  EXPECT_EQ(token_role("input_ids"), TokenRole::Ids);
  EXPECT_EQ(token_role("attention_mask"), TokenRole::Mask);
  EXPECT_EQ(token_role("token_type_ids"), TokenRole::Types);
  EXPECT_EQ(token_role("position_ids"), TokenRole::Positions);
  EXPECT_FALSE(token_role("pixel_values"));
}

TEST(TextSamples, OneInputForEachRole) {
  const sparsebit::test::TempDir dir;
  write_file_atomically(dir / "t.txt", "a layer\r\n  \nthe scale of a layer\n");
  const auto tokenizer =
      text::load_tokenizer(std::filesystem::path(SPARSEBIT_TEXT_FIXTURES) / "bert.json");
  const auto samples =
      std::make_shared<const TextSamples>(read_texts(dir / "t.txt", *tokenizer, 100));
  const auto get = [&](TokenRole role) { return token_dataset(samples, role)->get(1).data; };
  const std::vector<int64_t> ids = tokenizer->encode("the scale of a layer").ids;
  const int64_t length = std::ssize(ids);
  EXPECT_TRUE(get(TokenRole::Ids).equal(at::tensor(ids, at::kLong)));
  EXPECT_TRUE(get(TokenRole::Mask).equal(at::ones({length}, at::kLong)));
  EXPECT_TRUE(get(TokenRole::Positions).equal(at::arange(length, at::kLong)));
  EXPECT_TRUE(get(TokenRole::Types).equal(at::zeros({length}, at::kLong)));
  const auto dataset = token_dataset(samples, TokenRole::Ids);
  EXPECT_EQ(dataset->size(), 2);
  EXPECT_FALSE(dataset->has_labels());
  EXPECT_THROW(dataset->get(2), Error);
}

TEST(TextSamples, AFileWithoutTextsIsAnError) {
  const sparsebit::test::TempDir dir;
  write_file_atomically(dir / "t.txt", "\n \n");
  const auto tokenizer =
      text::load_tokenizer(std::filesystem::path(SPARSEBIT_TEXT_FIXTURES) / "bert.json");
  EXPECT_THROW(read_texts(dir / "t.txt", *tokenizer, 100), Error);
}

}  // namespace
}  // namespace sparsebit::data::text_samples_test
