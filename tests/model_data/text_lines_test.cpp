#include "sparsebit/data/text_lines.h"

#include "core/temp_dir.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::data::text_lines_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class TextLines : public testing::Test {
 protected:
  std::vector<TextLine> read(const std::string& name, const std::string& text) {
    write_file_atomically(dir_ / name, text);
    return read_text_lines(dir_ / name);
  }

  void expect_pair(const std::vector<TextLine>& lines) {
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[1].text, "a plane");
    EXPECT_EQ(lines[1].pair, "a bird");
    EXPECT_EQ(lines[1].score, 1.5);
    EXPECT_TRUE(are_scored_pairs(lines));
  }

  const sparsebit::test::TempDir dir_;
};

TEST_F(TextLines, ScoredPairs) {
  expect_pair(read("a.jsonl", R"({"text": "a dog", "text_pair": "the dog", "score": 5}
{"sentence1": "a plane", "sentence2": "a bird", "score": 1.5}
)"));
  expect_pair(read("a.tsv",
                   "index\tsentence1\tsentence2\tscore\n0\ta dog\tthe dog\t5\n"
                   "1\ta plane\ta bird\t1.5\r\n"));
  expect_pair(read("b.tsv", "a dog\tthe dog\t5\na plane\ta bird\t1.5\n"));
  expect_pair(read("sts.tsv",
                   "main\tMSRvid\t2012\t1\t5.000\ta dog\tthe dog\n"
                   "main\tMSRvid\t2012\t2\t1.500\ta plane\ta bird\n"));
}

TEST_F(TextLines, OtherTexts) {
  const auto lines = read("a.txt", "one\n\n two\tthree\n");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1].text, " two\tthree");
  EXPECT_EQ(lines[1].number, 3);
  EXPECT_FALSE(are_scored_pairs(lines));
  EXPECT_EQ(read("a.tsv", "sentence\tlabel\nfine\t1\n")[0].label, 1);
}

TEST_F(TextLines, ErrorsNameTheLine) {
  const auto expect_error = [&](const std::string& name, const std::string& text,
                                const std::string& error) {
    EXPECT_THAT([&] { read(name, text); }, ThrowsMessage<Error>(HasSubstr(error)));
  };
  expect_error("a.tsv", "a\tb\tfive\n", "a.tsv:1: expected a number as score, found 'five'");
  expect_error("a.tsv", "a\tb\t5\na\tb\n", "a.tsv:2: expected at least 3 columns, found 2");
  expect_error("a.tsv", "a\tb\n",
               "a.tsv:1: expected a heading with sentence1, sentence2 and score");
  expect_error("a.jsonl", R"({"text": "a", "text_pair": "b", "score": "high"})",
               "a.jsonl:1: score: expected a number, found a string");
  expect_error("a.jsonl", "{\"text\": \"a\", \"score\": 1}\n{\"text\": \"b\"}\n",
               "a.jsonl:2: some texts have a score and others do not");
  expect_error("a.txt", "\n", "contains no texts");
}

}  // namespace
}  // namespace sparsebit::data::text_lines_test
