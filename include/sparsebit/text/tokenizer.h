#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::text {

/// What a model reads of a text, or of two.
struct Encoding {
  std::vector<int64_t> ids;
  std::vector<int64_t> type_ids;  ///< 1 for the second text, 0 for the rest
  bool truncated = false;
};

/// Turns texts into the numbers that a language model was trained with: those that the Python
/// package `tokenizers` gives, whatever `truncation` and `padding` of its file say. Safe to use
/// from several threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// @param pair    a second text, for models that compare two.
  /// @param length  the most ids, special ones included; 0: any number. Of two texts the longer one
  ///                is cut, from its end.
  virtual Encoding encode(const std::string& text, const std::optional<std::string>& pair = {},
                          int64_t length = 0) const = 0;
  /// How many ids there are.
  virtual int64_t size() const = 0;
  /// What shorter texts are filled up with.
  virtual int64_t pad_id() const = 0;
  /// Nothing when it is not in the vocabulary.
  virtual std::optional<int64_t> id_of(const std::string& token) const = 0;
};

/// Reads `tokenizer.json`, `vocab.txt` of BERT, or `vocab.json` with `merges.txt` beside it, as
/// they are stored with models on the Hugging Face hub; or a folder with one of these. Throws Io
/// when there is none, InvalidArgument, naming the file, when it is malformed, Unsupported, naming
/// the part, when it needs something that is not understood.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& file_or_folder);

}  // namespace sparsebit::text
