#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace sparsebit::text {

using Vocabulary = std::unordered_map<std::string, int64_t>;

/// Splits words into tokens of a vocabulary.
class SubwordModel {
 public:
  explicit SubwordModel(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  virtual ~SubwordModel() = default;

  /// Adds the ids of a word's tokens.
  virtual void split(const std::string& word, std::vector<int64_t>& ids) const = 0;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  std::optional<int64_t> find(const std::string& token) const;
  /// Throws InvalidArgument when the vocabulary does not have the token.
  int64_t get(const std::string& token) const;

 private:
  Vocabulary vocabulary_;
};

using SubwordModelPtr = std::unique_ptr<SubwordModel>;

struct WordPieceOptions {
  std::string unknown = "[UNK]";
  std::string prefix = "##";  ///< of tokens that are not the first of a word
  int64_t most_characters = 100;
};
/// Greedy longest match from the beginning of the word.
SubwordModelPtr make_word_piece(Vocabulary vocabulary, const WordPieceOptions& options = {});

struct BytePairOptions {
  std::optional<std::string> unknown = {};
  std::string prefix = {};     ///< of characters that are not the first of a word
  std::string suffix = {};     ///< of the last character of a word
  bool fuse_unknown = false;   ///< consecutive unknown characters become one token
  bool byte_fallback = false;  ///< unknown characters become byte tokens: <0xE2>
  bool ignore_merges = false;  ///< words in the vocabulary are not split
};
/// Merges neighbouring symbols in the order of the list of merges.
SubwordModelPtr make_byte_pair(Vocabulary vocabulary,
                               const std::vector<std::pair<std::string, std::string>>& merges,
                               const BytePairOptions& options = {});

struct UnigramOptions {
  std::optional<int64_t> unknown = {};
  bool byte_fallback = false;
};
/// The split whose parts have the largest sum of scores.
/// @param tokens  tokens and their scores, in the order of ids.
SubwordModelPtr make_unigram(const std::vector<std::pair<std::string, double>>& tokens,
                             const UnigramOptions& options = {});

/// Maps whole words; words that are not in the vocabulary become `unknown`.
SubwordModelPtr make_word_level(Vocabulary vocabulary, const std::string& unknown);

/// Reads the `model` of a tokenizer.json. Throws Unsupported for unknown types.
SubwordModelPtr read_subword_model(const nlohmann::json& json);

}  // namespace sparsebit::text
