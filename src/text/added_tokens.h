#pragma once

#include "text/normalizers.h"
#include "text/regex.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::text {

/// Tokens that are found in a text as they are written, before it is split: [SEP], <|endoftext|>.
class AddedTokens {
 public:
  struct Token {
    int64_t id;
    bool takes_space_before = false;
    bool takes_space_after = false;
  };

  /// A part of a text: one of the tokens, or what lies between them.
  struct Part {
    std::string text;
    std::optional<int64_t> id = {};
  };

  explicit AddedTokens(std::map<std::string, Token> tokens = {});

  std::vector<Part> split(const std::string& text) const;
  std::optional<int64_t> find(const std::string& token) const;
  const std::map<std::string, Token>& tokens() const { return tokens_; }

 private:
  std::map<std::string, Token> tokens_;
  std::optional<Regex> any_;
};

/// From the `added_tokens` of a tokenizer.json: those that are looked for in normalized texts, or
/// without a normalizer the others.
AddedTokens read_added_tokens(const nlohmann::json& json, const Normalizer* normalizer);

}  // namespace sparsebit::text
