#include "text/subword_model.h"
#include "text/unicode.h"

namespace sparsebit::text {
namespace {

class WordPiece : public SubwordModel {
 public:
  WordPiece(Vocabulary vocabulary, const WordPieceOptions& options)
      : SubwordModel(std::move(vocabulary)), options_(options), unknown_(get(options.unknown)) {}

  void split(const std::string& word, std::vector<int64_t>& ids) const override {
    const std::vector<std::string> letters = characters(word);
    std::vector<int64_t> parts;
    bool known = static_cast<int64_t>(letters.size()) <= options_.most_characters;
    for (size_t start = 0; known && start < letters.size();) {
      size_t end = letters.size();
      std::string rest = start > 0 ? options_.prefix : "";
      for (size_t i = start; i < end; ++i) rest += letters[i];
      std::optional<int64_t> id = find(rest);
      while (!id && --end > start) {
        rest.resize(rest.size() - letters[end].size());
        id = find(rest);
      }
      known = id.has_value();
      if (known) parts.push_back(*id);
      start = end;
    }
    if (!known) parts = {unknown_};
    ids.insert(ids.end(), parts.begin(), parts.end());
  }

 private:
  WordPieceOptions options_;
  int64_t unknown_;
};

}  // namespace

SubwordModelPtr make_word_piece(Vocabulary vocabulary, const WordPieceOptions& options) {
  return std::make_unique<WordPiece>(std::move(vocabulary), options);
}

}  // namespace sparsebit::text
