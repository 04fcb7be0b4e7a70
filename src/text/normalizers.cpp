#include "text/normalizers.h"

#include "text/json_fields.h"
#include "text/regex.h"
#include "text/unicode.h"

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

namespace sparsebit::text {
namespace {

Normalizer read_normalizers(const nlohmann::json& json) {
  std::vector<Normalizer> steps;
  for (const nlohmann::json& item : field(json, "normalizers"))
    steps.push_back(read_normalizer(item));
  return [steps](const std::string& text) {
    std::string changed = text;
    for (const Normalizer& step : steps) changed = step(changed);
    return changed;
  };
}

Normalizer read_bert(const nlohmann::json& json) {
  BertNormalizer bert;
  bert.clean_text = flag_or(json, "clean_text", true);
  bert.handle_chinese_chars = flag_or(json, "handle_chinese_chars", true);
  bert.lowercase = flag_or(json, "lowercase", true);
  bert.strip_accents = flag_or(json, "strip_accents", bert.lowercase);
  return bert;
}

Normalizer read_replace(const nlohmann::json& json) {
  const auto pattern = std::make_shared<const Regex>(pattern_of(field(json, "pattern")));
  return [pattern, by = text_of(json, "content")](const std::string& text) {
    return pattern->replaced(text, by);
  };
}

Normalizer form(NormalForm form) {
  return [form](const std::string& text) { return normalized(text, form); };
}

}  // namespace

std::string BertNormalizer::operator()(const std::string& text) const {
  std::string cleaned;
  for (const CodePoint c : code_points(text)) {
    const bool drops = clean_text && (c == 0 || c == 0xFFFD || is_control(c));
    if (drops) continue;
    const bool apart = handle_chinese_chars && is_chinese(c);
    cleaned += clean_text && is_space(c) ? " " : apart ? " " + utf8(c) + " " : utf8(c);
  }
  if (strip_accents)
    cleaned = without_marks(normalized(cleaned, NormalForm::Nfd), Marks::NonSpacing);
  return lowercase ? lower_case(cleaned) : cleaned;
}

Normalizer read_normalizer(const nlohmann::json& json) {
  if (json.is_null()) return [](const std::string& text) { return text; };
  using Reader = std::function<Normalizer(const nlohmann::json&)>;
  static const std::map<std::string, Reader> readers = {
      {"Sequence", read_normalizers},
      {"BertNormalizer", read_bert},
      {"Replace", read_replace},
      {"NFC", [](const auto&) { return form(NormalForm::Nfc); }},
      {"NFD", [](const auto&) { return form(NormalForm::Nfd); }},
      {"NFKC", [](const auto&) { return form(NormalForm::Nfkc); }},
      {"NFKD", [](const auto&) { return form(NormalForm::Nfkd); }},
      {"Lowercase",
       [](const auto&) { return [](const std::string& text) { return lower_case(text); }; }},
      {"StripAccents",
       [](const auto&) {
         return [](const std::string& text) { return without_marks(text, Marks::All); };
       }},
      {"Strip",
       [](const nlohmann::json& json) {
         return [left = flag_or(json, "strip_left", true),
                 right = flag_or(json, "strip_right", true)](const std::string& text) {
           return stripped(text, left, right);
         };
       }},
      {"Prepend",
       [](const nlohmann::json& json) {
         return [front = text_of(json, "prepend")](const std::string& text) {
           return text.empty() ? text : front + text;
         };
       }},
  };
  return reader_of(json, readers, "normalizer")(json);
}

}  // namespace sparsebit::text
