#include "sparsebit/core/glob.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace sparsebit {
namespace {

// How many bytes the UTF-8 sequence at the start of `text` has, or 0 if it is not valid.
size_t sequence_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t length = lead < 0x80                    ? 1
                        : lead >= 0xC2 && lead <= 0xDF ? 2
                        : lead >= 0xE0 && lead <= 0xEF ? 3
                        : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                       : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  if (length < 3) return length;
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xED && byte(1) >= 0xA0;
  const bool too_large = lead == 0xF4 && byte(1) >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

// Code points. Invalid bytes become lone surrogates, which valid text cannot contain, as Python's
// file system encoding does it.
std::u32string decode(std::string_view text) {
  std::u32string points;
  points.reserve(text.size());
  while (!text.empty()) {
    const size_t length = sequence_length(text);
    const auto lead = static_cast<unsigned char>(text[0]);
    char32_t point = length == 0 ? 0xDC00u + lead : length == 1 ? lead : lead & (0x7Fu >> length);
    for (size_t i = 1; i < length; ++i) {
      point = (point << 6) | (static_cast<unsigned char>(text[i]) & 0x3Fu);
    }
    points.push_back(point);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return points;
}

struct CharSet {
  bool negated = false;
  std::vector<std::pair<char32_t, char32_t>> ranges;  // both ends included

  void add(char32_t low, char32_t high) { ranges.emplace_back(low, high); }

  bool matches(char32_t c) const {
    const bool inside = std::any_of(ranges.begin(), ranges.end(), [c](const auto& range) {
      return range.first <= c && c <= range.second;
    });
    return inside != negated;
  }
};

// Splits the text between '[' and ']' at the hyphens that form ranges: "xa-fk" gives {xa, fk}.
// The ends of a range that runs backwards are dropped, and its neighbours joined.
std::vector<std::u32string> range_chunks(const std::u32string& inside) {
  std::vector<std::u32string> chunks;
  size_t start = 0;
  size_t hyphen = inside.find(U'-', inside[0] == U'!' ? 2 : 1);
  while (hyphen != std::u32string::npos) {
    chunks.push_back(inside.substr(start, hyphen - start));
    start = hyphen + 1;
    hyphen = inside.find(U'-', hyphen + 3);
  }
  if (start < inside.size()) {
    chunks.push_back(inside.substr(start));
  } else {
    chunks.back() += U'-';  // a hyphen at the end is a member
  }
  for (size_t k = chunks.size() - 1; k > 0; --k) {
    if (chunks[k - 1].back() <= chunks[k].front()) continue;
    chunks[k - 1].pop_back();
    chunks[k - 1] += chunks[k].substr(1);
    chunks.erase(chunks.begin() + static_cast<std::ptrdiff_t>(k));
  }
  return chunks;
}

// The set written between '[' and ']'. Like Python, looks for '!' after removing empty ranges, so
// `[b-a!x]` is `[!x]`.
CharSet parse_set(const std::u32string& inside) {
  std::vector<std::u32string> chunks = range_chunks(inside);
  CharSet set;
  if (!chunks[0].empty() && chunks[0][0] == U'!') {
    set.negated = true;
    chunks[0].erase(0, 1);
    if (chunks[0].empty() && chunks.size() > 1) set.add(U'-', U'-');  // the hyphen starts no range
  }
  for (size_t k = 0; k < chunks.size(); ++k) {
    for (const char32_t c : chunks[k]) set.add(c, c);
    if (k > 0 && !chunks[k - 1].empty()) set.add(chunks[k - 1].back(), chunks[k].front());
  }
  return set;
}

// One element of a pattern: a star, or an element that matches exactly one character.
struct Token {
  enum class Kind { Star, AnyChar, Literal, Set } kind;
  char32_t literal = 0;
  CharSet set = {};

  bool matches(char32_t c) const {
    if (kind == Kind::Literal) return c == literal;
    return kind == Kind::AnyChar || set.matches(c);
  }
};

// Position of the ']' that closes the set opened at `open`, if there is one.
std::optional<size_t> closing_bracket(const std::u32string& pattern, size_t open) {
  size_t at = open + 1;
  if (at < pattern.size() && pattern[at] == U'!') ++at;
  if (at < pattern.size() && pattern[at] == U']') ++at;  // a member
  at = pattern.find(U']', at);
  return at == std::u32string::npos ? std::nullopt : std::optional(at);
}

std::vector<Token> parse(const std::u32string& pattern) {
  std::vector<Token> tokens;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char32_t c = pattern[i];
    if (c == U'*') {
      tokens.push_back({Token::Kind::Star});
    } else if (c == U'?') {
      tokens.push_back({Token::Kind::AnyChar});
    } else if (const auto close = c == U'[' ? closing_bracket(pattern, i) : std::nullopt) {
      tokens.push_back({Token::Kind::Set, 0, parse_set(pattern.substr(i + 1, *close - i - 1))});
      i = *close;
    } else {
      tokens.push_back({Token::Kind::Literal, c});
    }
  }
  return tokens;
}

}  // namespace

bool glob_match(std::string_view text, std::string_view pattern) {
  const std::u32string chars = decode(text);
  const std::vector<Token> tokens = parse(decode(pattern));
  constexpr size_t kNone = std::u32string::npos;

  // On a mismatch the last star takes one more character. Backtracking to an earlier star cannot
  // help: the last star can take all characters that an earlier one could.
  size_t t = 0;
  size_t last_star = kNone;
  size_t resume = 0;
  for (size_t c = 0; c < chars.size();) {
    if (t < tokens.size() && tokens[t].kind == Token::Kind::Star) {
      last_star = t++;
      resume = c;
    } else if (t < tokens.size() && tokens[t].matches(chars[c])) {
      ++t;
      ++c;
    } else if (last_star != kNone) {
      t = last_star + 1;
      c = ++resume;
    } else {
      return false;
    }
  }
  return std::all_of(tokens.begin() + static_cast<std::ptrdiff_t>(t), tokens.end(),
                     [](const Token& token) { return token.kind == Token::Kind::Star; });
}

bool glob_match_any(std::string_view text, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return glob_match(text, pattern); });
}

}  // namespace sparsebit
