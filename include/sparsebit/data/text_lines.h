#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::data {

/// A text or a pair of texts, with optional label and score.
struct TextLine {
  std::string text;
  std::optional<std::string> pair = {};
  std::optional<int64_t> label = {};  ///< class number
  std::optional<double> score = {};   ///< similarity of the pair
  int64_t number = 0;                 ///< line number in the file, from 1
};

/// Which text of a line is fed to the model.
enum class TextPart {
  Both,  ///< both as a pair
  First,
  Second,
};

/// Whether a file has a suffix of text data: .txt, .jsonl, .json, .tsv.
bool is_text_file(const std::filesystem::path& file);

/// Reads the non-empty lines of a file:
///
///     .txt           one text per line
///     .jsonl, .json  one object per line: `text` (or `sentence`, `sentence1`, `question`,
///     `premise`),
///                    `text_pair` (or `sentence2`, `context`, `hypothesis`), `label`, `score`
///     .tsv           columns of these names; or, without a heading, two texts and their score, or
///                    the seven columns of the STS benchmark
///
/// Throws InvalidArgument, naming the line, when a line has no text, or when only some lines have a
/// label or a score.
std::vector<TextLine> read_text_lines(const std::filesystem::path& file);

/// Whether all lines are pairs of texts with a score.
bool are_scored_pairs(const std::vector<TextLine>& lines);

}  // namespace sparsebit::data
