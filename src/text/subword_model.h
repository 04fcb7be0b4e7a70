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

/// Splits words into the parts that a vocabulary has.
class SubwordModel {
 public:
  explicit SubwordModel(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  virtual ~SubwordModel() = default;

  /// Adds the ids of a word's parts.
  virtual void split(const std::string& word, std::vector<int64_t>& ids) const = 0;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  std::optional<int64_t> find(const std::string& token) const;
  /// Throws InvalidArgument when the vocabulary does not have it.
  int64_t get(const std::string& token) const;

 private:
  Vocabulary vocabulary_;
};

using SubwordModelPtr = std::unique_ptr<SubwordModel>;

struct WordPieceOptions {
  std::string unknown = "[UNK]";
  std::string prefix = "##";  ///< of parts that are not the first
  int64_t most_characters = 100;
};
/// The longest part that the vocabulary has, then the longest of the rest, and so on.
SubwordModelPtr make_word_piece(Vocabulary vocabulary, const WordPieceOptions& options = {});

struct BytePairOptions {
  std::optional<std::string> unknown = {};
  std::string prefix = {};     ///< of characters that are not the first of a word
  std::string suffix = {};     ///< of the last one
  bool fuse_unknown = false;   ///< unknown characters in a row are one token
  bool byte_fallback = false;  ///< unknown characters are their bytes: <0xE2>
  bool ignore_merges = false;  ///< a word that the vocabulary has is not split
};
/// Neighbours are merged, those that are first in the list of merges first.
SubwordModelPtr make_byte_pair(Vocabulary vocabulary,
                               const std::vector<std::pair<std::string, std::string>>& merges,
                               const BytePairOptions& options = {});

struct UnigramOptions {
  std::optional<int64_t> unknown = {};
  bool byte_fallback = false;
};
/// The split whose parts have the largest sum of scores.
/// @param tokens  with their scores, by id.
SubwordModelPtr make_unigram(const std::vector<std::pair<std::string, double>>& tokens,
                             const UnigramOptions& options = {});

/// Words that are not in the vocabulary are unknown.
SubwordModelPtr make_word_level(Vocabulary vocabulary, const std::string& unknown);

/// From the `model` of a tokenizer.json. Throws Unsupported for types that are not known.
SubwordModelPtr read_subword_model(const nlohmann::json& json);

}  // namespace sparsebit::text
