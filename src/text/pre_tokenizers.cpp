#include "text/pre_tokenizers.h"

#include "text/json_fields.h"
#include "text/unicode.h"

#include <array>
#include <map>
#include <memory>

namespace sparsebit::text {
namespace {

/// How a separator is treated.
enum class Behavior { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };

Behavior behavior_of(const std::string& name) {
  static const std::map<std::string, Behavior> names = {
      {"Removed", Behavior::Removed},
      {"Isolated", Behavior::Isolated},
      {"MergedWithPrevious", Behavior::MergedWithPrevious},
      {"MergedWithNext", Behavior::MergedWithNext},
      {"Contiguous", Behavior::Contiguous}};
  const auto found = names.find(name);
  SPARSEBIT_CHECK(found != names.end(), Unsupported, "the split behavior '", name,
                  "' is not supported");
  return found->second;
}

using Parts = std::vector<std::pair<std::string, bool>>;  // text, and whether it is a separator

std::vector<Piece> join(const Parts& parts, Behavior behavior, bool starts_text) {
  std::vector<std::string> texts;
  bool previous = false, open = false;  // last part was a separator; next part joins it
  for (const auto& [text, separates] : parts) {
    const bool joins =
        !texts.empty() &&
        ((behavior == Behavior::MergedWithPrevious && separates && !previous) ||
         (open && !separates) || (behavior == Behavior::Contiguous && separates == previous));
    if (separates && behavior == Behavior::Removed) {
      previous = true;
      if (texts.empty()) starts_text = false;
      continue;
    }
    if (joins) {
      texts.back() += text;
    } else {
      texts.push_back(text);
    }
    open = separates && behavior == Behavior::MergedWithNext;
    previous = separates;
  }
  std::vector<Piece> pieces;
  for (std::string& text : texts)
    pieces.push_back({std::move(text), starts_text && pieces.empty()});
  return pieces;
}

/// Splits at single characters for which `test` is true.
template <class Test>
Parts parts_at(const std::string& text, const Test& test) {
  Parts parts;
  for (const CodePoint c : code_points(text)) {
    const bool separates = test(c);
    if (separates || parts.empty() || parts.back().second) {
      parts.emplace_back(utf8(c), separates);
    } else {
      parts.back().first += utf8(c);
    }
  }
  return parts;
}

/// The visible character for each byte: itself if visible, otherwise one from U+0100 on.
const std::array<std::string, 256>& characters_of_bytes() {
  static const std::array<std::string, 256> table = [] {
    std::array<std::string, 256> result;
    CodePoint next = 256;
    for (CodePoint byte = 0; byte < 256; ++byte) {
      const bool is_visible = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) ||
                              (byte >= 0xAE && byte <= 0xFF);
      result[static_cast<size_t>(byte)] = utf8(is_visible ? byte : next++);
    }
    return result;
  }();
  return table;
}

std::string visible_bytes(const std::string& text) {
  std::string result;
  for (const char byte : text) result += characters_of_bytes()[static_cast<unsigned char>(byte)];
  return result;
}

PreTokenizer read_steps(const nlohmann::json& json) {
  std::vector<PreTokenizer> steps;
  for (const nlohmann::json& item : field(json, "pretokenizers"))
    steps.push_back(read_pre_tokenizer(item));
  return [steps](const Piece& piece) {
    std::vector<Piece> pieces = {piece};
    for (const PreTokenizer& step : steps) {
      std::vector<Piece> next;
      for (const Piece& part : pieces) {
        for (Piece& finer : step(part)) next.push_back(std::move(finer));
      }
      pieces = std::move(next);
    }
    return pieces;
  };
}

PreTokenizer read_split(const nlohmann::json& json) {
  const auto pattern = std::make_shared<const Regex>(pattern_of(field(json, "pattern")));
  const Behavior behavior = behavior_of(text_of(json, "behavior"));
  const bool invert = flag_or(json, "invert", false);
  return [=](const Piece& piece) {
    Parts parts = pattern->pieces(piece.text);
    if (invert) {
      for (auto& [text, separates] : parts) separates = !separates;
    }
    return join(parts, behavior, piece.starts_text);
  };
}

PreTokenizer matches_of(const char* expression) {
  const auto pattern = std::make_shared<const Regex>(std::string(expression));
  return [=](const Piece& piece) {
    Parts parts = pattern->pieces(piece.text);
    for (auto& [text, separates] : parts) separates = !separates;
    return join(parts, Behavior::Removed, piece.starts_text);
  };
}

/// Replaces spaces by a visible character, at which words begin.
PreTokenizer read_metaspace(const nlohmann::json& json) {
  const std::string sign = text_or(json, "replacement", "\u2581");
  const bool prefixes = flag_or(json, "add_prefix_space", true);
  const std::string scheme = text_or(json, "prepend_scheme", prefixes ? "always" : "never");
  const bool splits = flag_or(json, "split", true);
  const auto space = std::make_shared<const Regex>(Regex::literally(" "));
  const auto at_sign = std::make_shared<const Regex>(Regex::literally(sign));
  return [=](const Piece& piece) -> std::vector<Piece> {
    std::string text = space->replaced(piece.text, sign);
    const bool prepends = scheme == "always" || (scheme == "first" && piece.starts_text);
    if (prepends && !text.starts_with(sign)) text = sign + text;
    if (!splits) return {{text, piece.starts_text}};
    return join(at_sign->pieces(text), Behavior::MergedWithNext, piece.starts_text);
  };
}

PreTokenizer read_digits(const nlohmann::json& json) {
  const Behavior behavior =
      flag_or(json, "individual_digits", false) ? Behavior::Isolated : Behavior::Contiguous;
  return [=](const Piece& piece) {
    return join(parts_at(piece.text, is_number), behavior, piece.starts_text);
  };
}

PreTokenizer read_punctuation(const nlohmann::json& json) {
  const Behavior behavior = behavior_of(text_or(json, "behavior", "Isolated"));
  return [=](const Piece& piece) {
    return join(parts_at(piece.text, is_punctuation), behavior, piece.starts_text);
  };
}

}  // namespace

std::vector<Piece> bert_words(const Piece& piece) {
  std::vector<Piece> words;
  for (const Piece& word :
       join(parts_at(piece.text, is_space), Behavior::Removed, piece.starts_text)) {
    for (Piece& part :
         join(parts_at(word.text, is_punctuation), Behavior::Isolated, word.starts_text))
      words.push_back(std::move(part));
  }
  return words;
}

PreTokenizer byte_level(bool add_prefix_space, bool splits_words) {
  static const Regex words(
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)");
  return [=](const Piece& piece) {
    const bool needs_space = add_prefix_space && !piece.text.starts_with(' ');
    const std::string text = needs_space ? " " + piece.text : piece.text;
    std::vector<Piece> pieces =
        splits_words ? join(words.pieces(text), Behavior::Isolated, piece.starts_text)
                     : std::vector<Piece>{{text, piece.starts_text}};
    for (Piece& part : pieces) part.text = visible_bytes(part.text);
    return pieces;
  };
}

PreTokenizer read_pre_tokenizer(const nlohmann::json& json) {
  if (json.is_null()) return [](const Piece& piece) { return std::vector<Piece>{piece}; };
  using Reader = std::function<PreTokenizer(const nlohmann::json&)>;
  static const std::map<std::string, Reader> readers = {
      {"Sequence", read_steps},
      {"BertPreTokenizer", [](const auto&) { return bert_words; }},
      {"ByteLevel",
       [](const nlohmann::json& json) {
         return byte_level(flag_or(json, "add_prefix_space", true),
                           flag_or(json, "use_regex", true));
       }},
      {"Whitespace", [](const auto&) { return matches_of(R"(\w+|[^\w\s]+)"); }},
      {"WhitespaceSplit",
       [](const auto&) {
         return [](const Piece& piece) {
           return join(parts_at(piece.text, is_space), Behavior::Removed, piece.starts_text);
         };
       }},
      {"Split", read_split},
      {"Metaspace", read_metaspace},
      {"Digits", read_digits},
      {"Punctuation", read_punctuation},
  };
  return reader_of(json, readers, "pre_tokenizer")(json);
}

}  // namespace sparsebit::text
