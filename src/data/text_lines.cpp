#include "sparsebit/data/text_lines.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/json_view.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>

namespace sparsebit::data {
namespace {

constexpr std::array kTextKeys = {"text", "sentence", "sentence1", "question", "premise"};
constexpr std::array kPairKeys = {"text_pair", "sentence2", "context", "hypothesis"};

template <class Keys>
std::optional<std::string> text_at(const nlohmann::json& json, const Keys& keys) {
  for (const char* key : keys) {
    if (json.contains(key) && json.at(key).is_string()) return json.at(key).get<std::string>();
  }
  return std::nullopt;
}

TextLine read_json(const std::string& text, const std::string& where) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  SPARSEBIT_CHECK(json.is_object(), InvalidArgument, where, ": not a JSON object");
  const auto first = text_at(json, kTextKeys);
  SPARSEBIT_CHECK(first, InvalidArgument, where,
                  ": no text; expected one of the keys text, sentence, sentence1, question and "
                  "premise");
  TextLine line{*first, text_at(json, kPairKeys)};
  const JsonView<nlohmann::json> view(json, where, ErrorKind::InvalidArgument);
  if (const auto label = view.find("label")) line.label = label->integer();
  if (const auto score = view.find("score")) line.score = score->number();
  return line;
}

// --- tables --------------------------------------------------------------------------------------

/// Columns of a table by meaning; -1: missing.
struct Columns {
  int text = -1, pair = -1, score = -1, label = -1;
};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells = {""};
  for (const char c : line) {
    if (c == '\t') {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

template <class Number>
std::optional<Number> number_in(const std::string& cell) {
  Number number = 0;
  const auto [stop, failed] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  const bool is_number = failed == std::errc() && stop == cell.data() + cell.size();
  return is_number ? std::optional(number) : std::nullopt;
}

/// The columns of a heading; nullopt when the line is not a heading.
std::optional<Columns> heading(const std::vector<std::string>& cells) {
  const auto column = [&](const auto& names) {
    for (const char* name : names) {
      const auto found = std::find(cells.begin(), cells.end(), name);
      if (found != cells.end()) return static_cast<int>(found - cells.begin());
    }
    return -1;
  };
  const Columns columns{column(kTextKeys), column(kPairKeys), column(std::array{"score"}),
                        column(std::array{"label"})};
  return columns.text >= 0 ? std::optional(columns) : std::nullopt;
}

Columns columns_without_heading(const std::vector<std::string>& cells, const std::string& where) {
  if (cells.size() == 3) return {.text = 0, .pair = 1, .score = 2};
  // genre, file, year, number, score, two sentences, sometimes their sources
  if (cells.size() >= 7) return {.text = 5, .pair = 6, .score = 4};
  throw Error(ErrorKind::InvalidArgument,
              where +
                  ": expected a heading with sentence1, sentence2 and score, or lines of two "
                  "texts and a score, or lines of the STS benchmark; found " +
                  std::to_string(cells.size()) + " columns");
}

TextLine read_row(const std::vector<std::string>& cells, const Columns& columns,
                  const std::string& where) {
  const int last = std::max({columns.text, columns.pair, columns.score, columns.label});
  SPARSEBIT_CHECK(last < std::ssize(cells), InvalidArgument, where, ": expected at least ",
                  last + 1, " columns, found ", cells.size());
  const auto cell = [&](int column) { return cells[static_cast<size_t>(column)]; };
  TextLine line{cell(columns.text)};
  if (columns.pair >= 0) line.pair = cell(columns.pair);
  if (columns.score >= 0) {
    line.score = number_in<double>(cell(columns.score));
    SPARSEBIT_CHECK(line.score, InvalidArgument, where, ": expected a number as score, found '",
                    cell(columns.score), "'");
  }
  if (columns.label >= 0) {
    line.label = number_in<int64_t>(cell(columns.label));
    SPARSEBIT_CHECK(line.label, InvalidArgument, where,
                    ": expected a class number as label, found '", cell(columns.label), "'");
  }
  return line;
}

/// Reads the lines of one file in order; remembers the columns of a table.
class LineReader {
 public:
  explicit LineReader(const std::filesystem::path& file) : kind_(file.extension().string()) {}

  /// nullopt for a heading.
  std::optional<TextLine> read(const std::string& text, const std::string& where) {
    if (kind_ == ".txt") return TextLine{text};
    if (kind_ != ".tsv") return read_json(text, where);
    const std::vector<std::string> cells = cells_of(text);
    if (columns_) return read_row(cells, *columns_, where);
    columns_ = heading(cells);
    if (columns_) return std::nullopt;
    columns_ = columns_without_heading(cells, where);
    return read_row(cells, *columns_, where);
  }

 private:
  std::string kind_;
  std::optional<Columns> columns_;  // of a .tsv file
};

void check_alike(const TextLine& line, const TextLine& first, const std::string& where) {
  SPARSEBIT_CHECK(line.label.has_value() == first.label.has_value(), InvalidArgument, where,
                  ": some texts have a label and others do not");
  SPARSEBIT_CHECK(line.score.has_value() == first.score.has_value(), InvalidArgument, where,
                  ": some texts have a score and others do not");
}

}  // namespace

bool is_text_file(const std::filesystem::path& file) {
  constexpr std::array kSuffixes = {".txt", ".jsonl", ".json", ".tsv"};
  return std::find(kSuffixes.begin(), kSuffixes.end(), file.extension().string()) !=
         kSuffixes.end();
}

std::vector<TextLine> read_text_lines(const std::filesystem::path& file) {
  std::istringstream stream(read_file(file));
  LineReader reader(file);
  std::vector<TextLine> lines;
  int64_t number = 0;
  for (std::string text; std::getline(stream, text);) {
    ++number;
    if (text.ends_with('\r')) text.pop_back();
    if (text.find_first_not_of(" \t") == std::string::npos) continue;
    const std::string where = file.string() + ":" + std::to_string(number);
    std::optional<TextLine> line = reader.read(text, where);
    if (!line) continue;
    line->number = number;
    lines.push_back(std::move(*line));
    check_alike(lines.back(), lines.front(), where);
  }
  SPARSEBIT_CHECK(!lines.empty(), InvalidArgument, file.string(), ": contains no texts");
  return lines;
}

bool are_scored_pairs(const std::vector<TextLine>& lines) {
  return std::all_of(lines.begin(), lines.end(),
                     [](const TextLine& line) { return line.pair && line.score; });
}

}  // namespace sparsebit::data
