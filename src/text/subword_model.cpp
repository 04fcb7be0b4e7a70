#include "text/subword_model.h"

#include "text/json_fields.h"

#include <functional>

namespace sparsebit::text {
namespace {

class WordLevel : public SubwordModel {
 public:
  WordLevel(Vocabulary vocabulary, const std::string& unknown)
      : SubwordModel(std::move(vocabulary)), unknown_(get(unknown)) {}

  void split(const std::string& word, std::vector<int64_t>& ids) const override {
    ids.push_back(find(word).value_or(unknown_));
  }

 private:
  int64_t unknown_;
};

Vocabulary read_vocabulary(const nlohmann::json& json) {
  const nlohmann::json& entries = field(json, "vocab");
  SPARSEBIT_CHECK(entries.is_object(), InvalidArgument, "'vocab' is not a map from tokens to ids");
  Vocabulary vocabulary;
  for (const auto& [token, id] : entries.items()) {
    vocabulary.emplace(token, token_id(id, token));
  }
  return vocabulary;
}

/// A merge is "a b" in older files and ["a", "b"] in newer ones.
std::pair<std::string, std::string> read_merge(const nlohmann::json& json) {
  if (json.is_array() && json.size() == 2 && json[0].is_string() && json[1].is_string())
    return {json[0].get<std::string>(), json[1].get<std::string>()};
  const std::string text = json.is_string() ? json.get<std::string>() : "";
  const size_t space = text.find(' ');
  SPARSEBIT_CHECK(space != std::string::npos, InvalidArgument, "a merge is not a pair of tokens: ",
                  json.is_string() ? "'" + text + "'" : json.type_name());
  return {text.substr(0, space), text.substr(space + 1)};
}

SubwordModelPtr read_word_piece(const nlohmann::json& json) {
  WordPieceOptions options;
  options.unknown = text_or(json, "unk_token", options.unknown);
  options.prefix = text_or(json, "continuing_subword_prefix", options.prefix);
  if (json.contains("max_input_chars_per_word") && json["max_input_chars_per_word"].is_number())
    options.most_characters = json["max_input_chars_per_word"].get<int64_t>();
  return make_word_piece(read_vocabulary(json), options);
}

SubwordModelPtr read_byte_pair(const nlohmann::json& json) {
  BytePairOptions options;
  if (is_told(json, "unk_token")) options.unknown = text_of(json, "unk_token");
  options.prefix = text_or(json, "continuing_subword_prefix", "");
  options.suffix = text_or(json, "end_of_word_suffix", "");
  options.fuse_unknown = flag_or(json, "fuse_unk", false);
  options.byte_fallback = flag_or(json, "byte_fallback", false);
  options.ignore_merges = flag_or(json, "ignore_merges", false);
  std::vector<std::pair<std::string, std::string>> merges;
  for (const nlohmann::json& merge : field(json, "merges")) merges.push_back(read_merge(merge));
  return make_byte_pair(read_vocabulary(json), merges, options);
}

SubwordModelPtr read_unigram(const nlohmann::json& json) {
  std::vector<std::pair<std::string, double>> tokens;
  for (const nlohmann::json& entry : field(json, "vocab")) {
    const bool is_pair =
        entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_number();
    SPARSEBIT_CHECK(is_pair, InvalidArgument,
                    "'vocab' has an entry that is not a pair of token and score");
    tokens.emplace_back(entry[0].get<std::string>(), entry[1].get<double>());
  }
  UnigramOptions options{.byte_fallback = flag_or(json, "byte_fallback", false)};
  if (is_told(json, "unk_id")) options.unknown = token_id(json["unk_id"], "unk_id");
  return make_unigram(tokens, options);
}

/// Old files have no type.
std::string type_of(const nlohmann::json& json) {
  if (json.contains("type")) return text_of(json, "type");
  if (json.contains("merges")) return "BPE";
  return field(json, "vocab").is_array() ? "Unigram" : "WordPiece";
}

}  // namespace

std::optional<int64_t> SubwordModel::find(const std::string& token) const {
  const auto found = vocabulary_.find(token);
  return found == vocabulary_.end() ? std::nullopt : std::optional(found->second);
}

int64_t SubwordModel::get(const std::string& token) const {
  const std::optional<int64_t> id = find(token);
  SPARSEBIT_CHECK(id, InvalidArgument, "token '", token, "' is not in the vocabulary");
  return *id;
}

SubwordModelPtr make_word_level(Vocabulary vocabulary, const std::string& unknown) {
  return std::make_unique<WordLevel>(std::move(vocabulary), unknown);
}

SubwordModelPtr read_subword_model(const nlohmann::json& json) {
  using Reader = std::function<SubwordModelPtr(const nlohmann::json&)>;
  static const std::map<std::string, Reader> readers = {
      {"WordPiece", read_word_piece},
      {"BPE", read_byte_pair},
      {"Unigram", read_unigram},
      {"WordLevel", [](const nlohmann::json& json) {
         return make_word_level(read_vocabulary(json), text_or(json, "unk_token", "<unk>"));
       }}};
  const std::string type = type_of(json);
  const auto found = readers.find(type);
  SPARSEBIT_CHECK(found != readers.end(), Unsupported, "the model '", type, "' is not supported");
  return found->second(json);
}

}  // namespace sparsebit::text
