#include "data/text_samples.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

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
    SPARSEBIT_CHECK(index >= 0 && index < size(), InvalidArgument, "sample ", index,
                    " is out of range");
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
                       int64_t length, TextPart part) {
  TextSamples samples{
      .encodings = {}, .labels = {}, .description = "texts, " + file.filename().string()};
  for (const TextLine& line : read_text_lines(file)) {
    const std::string where = file.string() + ":" + std::to_string(line.number);
    SPARSEBIT_CHECK(part != TextPart::Second || line.pair, InvalidArgument, where,
                    ": no second text");
    const std::string& first = part == TextPart::Second ? *line.pair : line.text;
    const auto second = part == TextPart::Both ? line.pair : std::nullopt;
    with_context([&] { samples.encodings.push_back(tokenizer.encode(first, second, length)); },
                 [&] { return "at " + where; });
    SPARSEBIT_CHECK(!samples.encodings.back().ids.empty(), InvalidArgument, where,
                    ": the text has no tokens");
    samples.labels.push_back(line.label);
    samples.truncated += samples.encodings.back().truncated ? 1 : 0;
  }
  return samples;
}

std::shared_ptr<const io::Dataset> token_dataset(std::shared_ptr<const TextSamples> samples,
                                                 TokenRole role) {
  return std::make_shared<TokenDataset>(std::move(samples), role);
}

}  // namespace sparsebit::data
