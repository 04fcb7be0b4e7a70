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

/// Tokens that are matched literally before a text is split into words: [SEP], <|endoftext|>.
class AddedTokens {
 public:
  struct Token {
    int64_t id;
    bool takes_space_before = false;
    bool takes_space_after = false;
  };

  /// A part of a text: an added token, or the text between two of them.
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

/// Reads the `added_tokens` of a tokenizer.json: with a normalizer, those that are matched after
/// normalization; without (null), those that are matched in the raw text.
AddedTokens read_added_tokens(const nlohmann::json& json, const Normalizer* normalizer);

}  // namespace sparsebit::text
