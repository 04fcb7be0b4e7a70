#include "text/byte_tokens.h"
#include "text/subword_model.h"
#include "text/unicode.h"

#include "sparsebit/core/error.h"

#include <map>
#include <queue>
#include <tuple>

namespace sparsebit::text {
namespace {

/// A part of a word, an element of a doubly linked list; links are indices.
struct Symbol {
  int64_t id;
  int64_t previous, next;  // -1: none
  bool merged = false;     // into its predecessor
};

class BytePair : public SubwordModel {
 public:
  BytePair(Vocabulary vocabulary, const std::vector<std::pair<std::string, std::string>>& merges,
           const BytePairOptions& options)
      : SubwordModel(std::move(vocabulary)), options_(options) {
    if (options.unknown) unknown_ = find(*options.unknown);
    for (size_t rank = 0; rank < merges.size(); ++rank) {
      const auto& [first, second] = merges[rank];
      const std::string rest =
          second.starts_with(options.prefix) ? second.substr(options.prefix.size()) : second;
      const std::pair ids(get(first), get(second));
      merges_.emplace(ids, Merge{static_cast<int64_t>(rank), get(first + rest)});
    }
  }

  void split(const std::string& word, std::vector<int64_t>& ids) const override {
    if (word.empty()) return;
    if (options_.ignore_merges) {
      if (const auto id = find(word)) return ids.push_back(*id);
    }
    std::vector<Symbol> symbols = symbols_of(word);
    merge(symbols);
    for (const Symbol& symbol : symbols) {
      if (!symbol.merged) ids.push_back(symbol.id);
    }
  }

 private:
  struct Merge {
    int64_t rank;
    int64_t id;
  };

  std::vector<Symbol> symbols_of(const std::string& word) const {
    const std::vector<std::string> letters = characters(word);
    std::vector<int64_t> ids;
    bool after_unknown = false;
    for (size_t i = 0; i < letters.size(); ++i) {
      std::string token = i > 0 ? options_.prefix + letters[i] : letters[i];
      if (i + 1 == letters.size()) token += options_.suffix;
      const bool was_known = add(token, letters[i], after_unknown, ids);
      after_unknown = !was_known;
    }
    std::vector<Symbol> symbols;
    const auto count = static_cast<int64_t>(ids.size());
    for (int64_t i = 0; i < count; ++i)
      symbols.push_back({ids[static_cast<size_t>(i)], i - 1, i + 1 < count ? i + 1 : -1});
    return symbols;
  }

  /// Adds the ids of a token. Returns whether the vocabulary has it, itself or as bytes.
  bool add(const std::string& token, const std::string& letter, bool after_unknown,
           std::vector<int64_t>& ids) const {
    if (const auto id = find(token)) {
      ids.push_back(*id);
      return true;
    }
    if (options_.byte_fallback && add_bytes(*this, letter, ids)) return true;
    SPARSEBIT_CHECK(unknown_ || !options_.unknown, InvalidArgument, "the vocabulary has neither '",
                    letter, "' nor '", *options_.unknown, "'");
    if (unknown_ && !(options_.fuse_unknown && after_unknown)) ids.push_back(*unknown_);
    return false;
  }

  /// Merges the pair of lowest rank first, the leftmost of equal ranks; merges may create new
  /// pairs.
  void merge(std::vector<Symbol>& symbols) const {
    using Candidate = std::tuple<int64_t, int64_t, int64_t, int64_t>;  // rank, left, ids of both
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
    const auto offer = [&](int64_t left) {
      if (left < 0 || symbols[left].next < 0) return;
      const int64_t a = symbols[left].id, b = symbols[symbols[left].next].id;
      if (const auto it = merges_.find({a, b}); it != merges_.end())
        queue.emplace(it->second.rank, left, a, b);
    };
    for (int64_t i = 0; i + 1 < static_cast<int64_t>(symbols.size()); ++i) offer(i);
    while (!queue.empty()) {
      const auto [rank, left, a, b] = queue.top();
      queue.pop();
      Symbol& first = symbols[left];
      const bool is_current =
          !first.merged && first.id == a && first.next >= 0 && symbols[first.next].id == b;
      if (!is_current) continue;  // a symbol of the pair was merged meanwhile
      Symbol& second = symbols[first.next];
      first.id = merges_.at({a, b}).id;
      first.next = second.next;
      second.merged = true;
      if (first.next >= 0) symbols[first.next].previous = left;
      offer(first.previous);
      offer(left);
    }
  }

  BytePairOptions options_;
  std::optional<int64_t> unknown_;
  std::map<std::pair<int64_t, int64_t>, Merge> merges_;
};

}  // namespace

SubwordModelPtr make_byte_pair(Vocabulary vocabulary,
                               const std::vector<std::pair<std::string, std::string>>& merges,
                               const BytePairOptions& options) {
  return std::make_unique<BytePair>(std::move(vocabulary), merges, options);
}

}  // namespace sparsebit::text
