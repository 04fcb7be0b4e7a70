#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::data {

/// A text, or two, and what is known of them.
struct TextLine {
  std::string text;
  std::optional<std::string> pair = {};
  std::optional<int64_t> label = {};  ///< a class
  std::optional<double> score = {};   ///< how alike the two are
  int64_t number = 0;                 ///< of the line in its file, from 1
};

/// Which text of a line a model reads.
enum class TextPart {
  Both,  ///< the two together, as models of pairs take them
  First,
  Second,
};

/// Whether the name of a file is one of texts: .txt, .jsonl, .json, .tsv.
bool is_text_file(const std::filesystem::path& file);

/// The lines of a file that are not empty:
///
///     .txt           a text each
///     .jsonl, .json  an object each: `text` (or `sentence`, `sentence1`, `question`, `premise`),
///                    `text_pair` (or `sentence2`, `context`, `hypothesis`), `label`, `score`
///     .tsv           columns of these names; or, without a heading, two texts and their score, or
///                    the seven columns of the STS benchmark
///
/// Throws InvalidArgument, naming the line, when there is no text, or when some lines have a label
/// or a score and others do not.
std::vector<TextLine> read_text_lines(const std::filesystem::path& file);

/// Whether it holds pairs of texts with a score.
bool are_scored_pairs(const std::vector<TextLine>& lines);

}  // namespace sparsebit::data
