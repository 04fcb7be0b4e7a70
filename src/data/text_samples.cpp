#include "data/text_samples.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <sstream>

namespace sparsebit::data {
namespace {

class TokenDataset : public io::Dataset {
 public:
  TokenDataset(std::shared_ptr<const TextSamples> samples, TokenRole role)
      : samples_(std::move(samples)), role_(role) {}

  int64_t size() const override { return std::ssize(samples_->encodings); }
  std::string describe() const override { return samples_->description; }

  bool has_labels() const override {
    return std::all_of(samples_->labels.begin(), samples_->labels.end(),
                       [](const auto& label) { return label.has_value(); });
  }

  io::Sample get(int64_t index) const override {
    SPARSEBIT_CHECK(index >= 0 && index < size(), InvalidArgument, "there is no sample ", index);
    const auto at = static_cast<size_t>(index);
    return {.data = tensor_of(samples_->encodings[at]),
            .name = "text " + std::to_string(index + 1),
            .label = samples_->labels[at]};
  }

 private:
  at::Tensor tensor_of(const text::Encoding& encoding) const {
    const int64_t length = std::ssize(encoding.ids);
    switch (role_) {
      case TokenRole::Ids:
        return at::tensor(encoding.ids, at::kLong);
      case TokenRole::Types:
        return at::tensor(encoding.type_ids, at::kLong);
      case TokenRole::Mask:
        return at::ones({length}, at::kLong);
      case TokenRole::Positions:
        return at::arange(length, at::kLong);
    }
    return {};
  }

  std::shared_ptr<const TextSamples> samples_;
  TokenRole role_;
};

/// A text, or two, and a class.
struct Line {
  std::string text;
  std::optional<std::string> pair = {};
  std::optional<int64_t> label = {};
};

std::optional<std::string> text_at(const nlohmann::json& json,
                                   std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (json.contains(key) && json.at(key).is_string()) return json.at(key).get<std::string>();
  }
  return std::nullopt;
}

Line read_json_line(const std::string& text, const std::string& where) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  SPARSEBIT_CHECK(json.is_object(), InvalidArgument, where, ": this is no JSON object");
  const auto first = text_at(json, {"text", "sentence", "sentence1", "question", "premise"});
  SPARSEBIT_CHECK(first, InvalidArgument, where,
                  ": there is no text; expected the key text, sentence, sentence1, question or "
                  "premise");
  Line line{*first, text_at(json, {"text_pair", "sentence2", "context", "hypothesis"})};
  if (json.contains("label")) {
    SPARSEBIT_CHECK(json.at("label").is_number_integer(), InvalidArgument, where,
                    ": the label is no class number but ", json.at("label").dump());
    line.label = json.at("label").get<int64_t>();
  }
  return line;
}

}  // namespace

std::optional<TokenRole> token_role(const std::string& input) {
  static const std::map<std::string, TokenRole> roles = {{"input_ids", TokenRole::Ids},
                                                         {"inputs_ids", TokenRole::Ids},
                                                         {"tokens", TokenRole::Ids},
                                                         {"token_ids", TokenRole::Ids},
                                                         {"ids", TokenRole::Ids},
                                                         {"attention_mask", TokenRole::Mask},
                                                         {"input_mask", TokenRole::Mask},
                                                         {"mask", TokenRole::Mask},
                                                         {"token_type_ids", TokenRole::Types},
                                                         {"segment_ids", TokenRole::Types},
                                                         {"position_ids", TokenRole::Positions}};
  const auto found = roles.find(input);
  return found == roles.end() ? std::nullopt : std::optional(found->second);
}

TextSamples read_texts(const std::filesystem::path& file, const text::Tokenizer& tokenizer,
                       int64_t length) {
  const bool is_json = file.extension() == ".jsonl" || file.extension() == ".json";
  std::istringstream stream(read_file(file));
  TextSamples samples{
      .encodings = {}, .labels = {}, .description = "texts, " + file.filename().string()};
  int64_t number = 0;
  for (std::string text; std::getline(stream, text);) {
    ++number;
    if (text.ends_with('\r')) text.pop_back();
    if (text.find_first_not_of(" \t") == std::string::npos) continue;
    const std::string where = file.string() + ":" + std::to_string(number);
    const Line line = is_json ? read_json_line(text, where) : Line{text};
    with_context(
        [&] { samples.encodings.push_back(tokenizer.encode(line.text, line.pair, length)); },
        [&] { return "at " + where; });
    SPARSEBIT_CHECK(!samples.encodings.back().ids.empty(), InvalidArgument, where,
                    ": the text has no tokens");
    SPARSEBIT_CHECK(
        samples.labels.empty() || line.label.has_value() == samples.labels[0].has_value(),
        InvalidArgument, where, ": some texts have a label and others do not");
    samples.labels.push_back(line.label);
    samples.truncated += samples.encodings.back().truncated ? 1 : 0;
  }
  SPARSEBIT_CHECK(!samples.encodings.empty(), InvalidArgument, file.string(),
                  ": there are no texts in it");
  return samples;
}

std::shared_ptr<const io::Dataset> token_dataset(std::shared_ptr<const TextSamples> samples,
                                                 TokenRole role) {
  return std::make_shared<TokenDataset>(std::move(samples), role);
}

}  // namespace sparsebit::data
