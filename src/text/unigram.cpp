#include "text/byte_tokens.h"
#include "text/subword_model.h"
#include "text/unicode.h"

#include "sparsebit/core/error.h"

#include <algorithm>
#include <limits>

namespace sparsebit::text {
namespace {

using Tokens = std::vector<std::pair<std::string, double>>;

/// The score of an unknown character is this much below the lowest score of a token.
constexpr double kUnknownPenalty = 10;

Vocabulary vocabulary_of(const Tokens& tokens) {
  Vocabulary vocabulary;
  for (size_t id = 0; id < tokens.size(); ++id)
    vocabulary.emplace(tokens[id].first, static_cast<int64_t>(id));
  return vocabulary;
}

class Unigram : public SubwordModel {
 public:
  Unigram(const Tokens& tokens, const UnigramOptions& options)
      : SubwordModel(vocabulary_of(tokens)), options_(options) {
    const auto count = static_cast<int64_t>(tokens.size());
    SPARSEBIT_CHECK(!options.unknown || (*options.unknown >= 0 && *options.unknown < count),
                    InvalidArgument, "unk_id ", *options.unknown, " is not in the vocabulary");
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [token, score] : tokens) {
      scores_.push_back(score);
      least = std::min(least, score);
      longest_ = std::max(longest_, token.size());
    }
    unknown_score_ = least - kUnknownPenalty;
  }

  /// Computes the best split of every prefix of the word (Viterbi).
  void split(const std::string& word, std::vector<int64_t>& ids) const override {
    const std::vector<std::string> letters = characters(word);
    std::vector<End> ends(letters.size() + 1);
    ends[0].score = 0;
    for (size_t start = 0; start < letters.size(); ++start) extend(letters, start, ends);
    std::vector<size_t> path;  // ends of the tokens, last first
    for (size_t end = letters.size(); end > 0; end = ends[end].start) path.push_back(end);
    bool after_unknown = false;
    for (auto it = path.rbegin(); it != path.rend(); ++it) {
      const End& end = ends[*it];
      if (end.id >= 0) ids.push_back(end.id);
      if (end.id < 0) add_unknown(letters[end.start], after_unknown, ids);
      after_unknown = end.id < 0;
    }
  }

 private:
  struct End {
    double score = -std::numeric_limits<double>::infinity();
    size_t start = 0;  // of the token that ends here
    int64_t id = -1;   // -1: unknown
  };

  void extend(const std::vector<std::string>& letters, size_t start, std::vector<End>& ends) const {
    std::string token;
    const auto offer = [&](size_t end, double score, int64_t id) {
      const double total = ends[start].score + score;
      if (total > ends[end].score) ends[end] = {total, start, id};
    };
    bool has_single = false;
    for (size_t end = start; end < letters.size() && token.size() < longest_; ++end) {
      token += letters[end];
      const auto id = find(token);
      if (!id) continue;
      offer(end + 1, scores_[static_cast<size_t>(*id)], *id);
      has_single = has_single || end == start;
    }
    if (!has_single) offer(start + 1, unknown_score_, -1);
  }

  void add_unknown(const std::string& letter, bool after_unknown, std::vector<int64_t>& ids) const {
    if (options_.byte_fallback && add_bytes(*this, letter, ids)) return;
    SPARSEBIT_CHECK(options_.unknown, InvalidArgument, "character '", letter,
                    "' is not in the vocabulary, which has no unknown token");
    if (!after_unknown) ids.push_back(*options_.unknown);
  }

  UnigramOptions options_;
  std::vector<double> scores_;
  double unknown_score_ = 0;
  size_t longest_ = 0;  // bytes
};

}  // namespace

SubwordModelPtr make_unigram(const Tokens& tokens, const UnigramOptions& options) {
  return std::make_unique<Unigram>(tokens, options);
}

}  // namespace sparsebit::text
