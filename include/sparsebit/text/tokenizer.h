#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::text {

/// The token ids of a text or of a pair of texts.
struct Encoding {
  std::vector<int64_t> ids;
  std::vector<int64_t> type_ids;  ///< 1 for the second text, 0 for the rest
  bool truncated = false;
};

/// Turns texts into token ids, as the Python package `tokenizers` does; the `truncation` and
/// `padding` settings of its file are ignored, except for the padding id. Thread-safe.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// @param pair    a second text, for models that compare two.
  /// @param length  maximum number of ids, including special tokens; 0: unlimited. Of a pair, the
  ///                longer text is truncated first, at its end.
  virtual Encoding encode(const std::string& text, const std::optional<std::string>& pair = {},
                          int64_t length = 0) const = 0;
  /// The largest id + 1.
  virtual int64_t size() const = 0;
  /// The id that shorter texts are padded with.
  virtual int64_t pad_id() const = 0;
  /// nullopt when the token is not in the vocabulary.
  virtual std::optional<int64_t> id_of(const std::string& token) const = 0;
};

/// Reads `tokenizer.json`, `vocab.txt` of BERT, or `vocab.json` with `merges.txt` beside it, as
/// they are stored with models on the Hugging Face hub; or a folder with one of these. Throws Io
/// when the file does not exist, InvalidArgument, naming the file, when it is malformed,
/// Unsupported, naming the component, when it has a component of an unsupported type.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& file_or_folder);

}  // namespace sparsebit::text
