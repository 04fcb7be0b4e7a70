#include "text/added_tokens.h"

#include "text/json_fields.h"
#include "text/unicode.h"

#include <algorithm>

namespace sparsebit::text {
namespace {

/// An expression that matches the longest token at a position.
std::optional<Regex> any_of(const std::map<std::string, AddedTokens::Token>& tokens) {
  std::vector<std::string> words;
  for (const auto& [word, token] : tokens) {
    if (!word.empty()) words.push_back(word);
  }
  if (words.empty()) return std::nullopt;
  std::stable_sort(words.begin(), words.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  std::string expression;
  for (const std::string& word : words) {
    // \E would end the quotation; a token that contains it is quoted character by character.
    const bool plain = word.find("\\E") == std::string::npos;
    std::string quoted;
    for (const std::string& c : characters(word)) quoted += "\\Q" + c + "\\E";
    expression += (expression.empty() ? "" : "|") + (plain ? "\\Q" + word + "\\E" : quoted);
  }
  return Regex(expression);
}

}  // namespace

AddedTokens::AddedTokens(std::map<std::string, Token> tokens)
    : tokens_(std::move(tokens)), any_(any_of(tokens_)) {}

std::optional<int64_t> AddedTokens::find(const std::string& token) const {
  const auto found = tokens_.find(token);
  return found == tokens_.end() ? std::nullopt : std::optional(found->second.id);
}

std::vector<AddedTokens::Part> AddedTokens::split(const std::string& text) const {
  if (!any_) return {{text}};
  std::vector<Part> parts;
  bool takes_space = false;
  for (const auto& [piece, matched] : any_->pieces(text)) {
    Part part{piece};
    if (matched) {
      const Token& token = tokens_.at(piece);
      part.id = token.id;
      if (token.takes_space_before && !parts.empty() && !parts.back().id)
        parts.back().text = stripped(parts.back().text, /*left=*/false, /*right=*/true);
      takes_space = token.takes_space_after;
    } else if (std::exchange(takes_space, false)) {
      part.text = stripped(part.text, /*left=*/true, /*right=*/false);
    }
    parts.push_back(std::move(part));
  }
  std::erase_if(parts, [](const Part& part) { return part.text.empty(); });
  return parts;
}

AddedTokens read_added_tokens(const nlohmann::json& json, const Normalizer* normalizer) {
  std::map<std::string, AddedTokens::Token> tokens;
  if (json.is_null()) return AddedTokens();
  for (const nlohmann::json& entry : json) {
    const std::string content = text_of(entry, "content");
    SPARSEBIT_CHECK(!flag_or(entry, "single_word", false), Unsupported, "the added token '",
                    content, "' has single_word set, which is not supported");
    if (flag_or(entry, "normalized", true) != (normalizer != nullptr)) continue;
    tokens.emplace(
        normalizer ? (*normalizer)(content) : content,
        AddedTokens::Token{token_id(field(entry, "id"), content), flag_or(entry, "lstrip", false),
                           flag_or(entry, "rstrip", false)});
  }
  return AddedTokens(std::move(tokens));
}

}  // namespace sparsebit::text
