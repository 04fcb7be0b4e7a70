#include "sparsebit/text/tokenizer.h"

#include "core/temp_dir.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sparsebit::text::tokenizer_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

const std::filesystem::path kFixtures = SPARSEBIT_TEXT_FIXTURES;

/// Expected ids are those of the Python package `tokenizers` 0.23, see fixtures/make.py.
class Fixtures : public testing::TestWithParam<const char*> {};

TEST_P(Fixtures, GiveTheIdsOfThePythonPackage) {
  const auto tokenizer = load_tokenizer(kFixtures / (std::string(GetParam()) + ".json"));
  const auto cases = nlohmann::json::parse(read_file(kFixtures / "cases.json")).at(GetParam());
  EXPECT_GT(cases.size(), 30u);
  for (const auto& entry : cases) {
    SCOPED_TRACE(entry["texts"].dump() + " within " + entry["length"].dump());
    const auto texts = entry["texts"].get<std::vector<std::string>>();
    const auto pair = texts.size() > 1 ? std::optional(texts[1]) : std::nullopt;
    const Encoding found = tokenizer->encode(texts[0], pair, entry["length"].get<int64_t>());
    EXPECT_EQ(found.ids, entry["ids"].get<std::vector<int64_t>>());
    EXPECT_EQ(found.type_ids, entry["types"].get<std::vector<int64_t>>());
  }
}

INSTANTIATE_TEST_SUITE_P(All, Fixtures,
                         testing::Values("bert", "bert_cased", "roberta", "gpt", "clip", "llama",
                                         "unigram", "spaces", "words"),
                         [](const auto& info) { return std::string(info.param); });

/// One token per line; texts are lower-cased unless the vocabulary has capital letters.
TEST(Tokenizer, ReadsTheVocabularyOfBert) {
  const sparsebit::test::TempDir dir;
  const std::string special = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n";
  write_file_atomically(dir / "vocab.txt", special + "scale\n##s\n,\n");
  const auto tokenizer = load_tokenizer(dir.path());
  EXPECT_THAT(tokenizer->encode("Scales, SCÁLE").ids, ElementsAre(2, 4, 5, 6, 4, 3));
  EXPECT_EQ(tokenizer->pad_id(), 0);
  EXPECT_EQ(tokenizer->size(), 7);
  EXPECT_EQ(tokenizer->id_of("[SEP]"), 3);
  EXPECT_FALSE(tokenizer->id_of("zero"));
  write_file_atomically(dir / "vocab.txt", special + "Scale\nscale\n");
  EXPECT_THAT(load_tokenizer(dir / "vocab.txt")->encode("Scale scale sCale").ids,
              ElementsAre(2, 4, 5, 1, 3));
}

TEST(Tokenizer, ReadsVocabularyAndMerges) {
  const sparsebit::test::TempDir dir;
  write_file_atomically(dir / "vocab.json",
                        R"({"a": 0, "b": 1, "Ġ": 2, "ab": 3, "Ġab": 4, "<|endoftext|>": 5})");
  write_file_atomically(dir / "merges.txt", "#version: 0.2\na b\nĠ ab\n");
  const auto tokenizer = load_tokenizer(dir.path());
  EXPECT_THAT(tokenizer->encode("ab ab ba<|endoftext|>").ids, ElementsAre(3, 4, 2, 1, 0, 5));
  EXPECT_EQ(tokenizer->pad_id(), 5);
}

TEST(Tokenizer, CutsFromTheEndAndSaysSo) {
  const auto tokenizer = load_tokenizer(kFixtures / "bert.json");
  const Encoding whole = tokenizer->encode("the scale of a layer");
  const Encoding cut = tokenizer->encode("the scale of a layer", {}, 4);
  EXPECT_FALSE(whole.truncated);
  EXPECT_TRUE(cut.truncated);
  EXPECT_THAT(cut.ids, ElementsAre(whole.ids[0], whole.ids[1], whole.ids[2], whole.ids.back()));
  EXPECT_THAT([&] { tokenizer->encode("a", {}, 1); },
              ThrowsMessage<Error>(HasSubstr("the special tokens alone exceed the length of 1")));
}

TEST(Tokenizer, ErrorsNameFileAndPart) {
  const sparsebit::test::TempDir dir;
  const auto error_of = [&](const std::string& content) -> std::string {
    write_file_atomically(dir / "tokenizer.json", content);
    try {
      load_tokenizer(dir.path());
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(error_of("{"), HasSubstr("not a JSON object"));
  EXPECT_THAT(error_of("{}"), HasSubstr("the key 'model' is missing"));
  EXPECT_THAT(error_of("{}"), HasSubstr("tokenizer.json"));
  EXPECT_THAT(error_of(R"({"model": {"type": "Markov", "vocab": {}}})"),
              HasSubstr("the model 'Markov' is not supported"));
  EXPECT_THAT(error_of(R"({"normalizer": {"type": "Precompiled"}, "model": {}})"),
              HasSubstr("the normalizer 'Precompiled' is not supported"));
  EXPECT_THAT(error_of(R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}})"),
              HasSubstr("token 'b' is not in the vocabulary"));
  EXPECT_THAT(error_of(R"({"model": {"type": "WordPiece", "vocab": {"a": "b"}}})"),
              HasSubstr("the id of 'a' is not an integer from 0 to 2^32 - 1"));
  EXPECT_THAT(error_of(R"({"model": {"type": "WordPiece", "vocab": {"[UNK]": -1}}})"),
              HasSubstr("the id of '[UNK]' is not an integer from 0 to 2^32 - 1"));
  EXPECT_THAT(
      error_of(R"({"normalizer": {"type": "BertNormalizer", "lowercase": "no"}, "model": {}})"),
      HasSubstr("'lowercase' is neither true nor false"));
  EXPECT_THAT(error_of(std::string(100000, '[')), HasSubstr("deeper than 64 levels"));
  EXPECT_THAT([&] { load_tokenizer(dir / "none.json"); }, testing::Throws<Error>());
  EXPECT_THAT([] { load_tokenizer(kFixtures.parent_path()); },
              ThrowsMessage<Error>(HasSubstr("contains no tokenizer.json, vocab.txt")));
}

}  // namespace
}  // namespace sparsebit::text::tokenizer_test
