#include "text/post_processor.h"

#include "text/json_fields.h"

#include <algorithm>

namespace sparsebit::text {
namespace {

using Item = PostProcessor::Item;
using Kind = Item::Kind;

int64_t count_special(const std::vector<Item>& items) {
  int64_t count = 0;
  for (const Item& item : items) count += static_cast<int64_t>(item.ids.size());
  return count;
}

/// Lengths of two texts after truncation to `most` in total; the longer one is cut first.
std::pair<int64_t, int64_t> lengths_within(int64_t first, int64_t second, int64_t most) {
  if (first + second <= most) return {first, second};
  const bool swapped = first > second;
  int64_t shorter = std::min(first, second), longer = std::max(first, second);
  longer = shorter > most ? shorter : std::max(shorter, most - shorter);
  if (shorter + longer > most) {
    shorter = most / 2;
    longer = most - shorter;
  }
  return swapped ? std::pair(longer, shorter) : std::pair(shorter, longer);
}

std::vector<Item> read_template(const nlohmann::json& json, const nlohmann::json& special) {
  std::vector<Item> items;
  for (const nlohmann::json& entry : json) {
    const bool is_text = entry.contains("Sequence");
    const nlohmann::json& content = field(entry, is_text ? "Sequence" : "SpecialToken");
    Item item{.kind = Kind::Special, .type_id = token_id(field(content, "type_id"), "type_id")};
    const std::string id = text_of(content, "id");
    if (is_text) {
      item.kind = id == "A" ? Kind::First : Kind::Second;
    } else {
      for (const nlohmann::json& one : field(field(special, id.c_str()), "ids"))
        item.ids.push_back(token_id(one, id));
    }
    items.push_back(std::move(item));
  }
  return items;
}

/// ["[SEP]", 102]
int64_t id_in(const nlohmann::json& json, const char* key) {
  const nlohmann::json& pair = field(json, key);
  SPARSEBIT_CHECK(pair.is_array() && pair.size() == 2, InvalidArgument, "'", key,
                  "' is not a pair of a token and its id");
  return token_id(pair[1], key);
}

Item special(int64_t id, int64_t type_id = 0) { return {Kind::Special, type_id, {id}}; }

/// Of a sequence, the one processor that adds tokens; the others only change offsets.
PostProcessor read_processors(const nlohmann::json& json) {
  for (const nlohmann::json& step : field(json, "processors")) {
    if (text_of(step, "type") != "ByteLevel") return read_post_processor(step);
  }
  return {};
}

}  // namespace

PostProcessor::PostProcessor()
    : PostProcessor({{Kind::First}}, {{Kind::First}, {Kind::Second, 1}}) {}

PostProcessor::PostProcessor(std::vector<Item> single, std::vector<Item> pair)
    : single_(std::move(single)), pair_(std::move(pair)) {}

Encoding PostProcessor::operator()(std::vector<int64_t> first, const std::vector<int64_t>* second,
                                   int64_t length) const {
  const std::vector<Item>& items = second ? pair_ : single_;
  std::vector<int64_t> other = second ? *second : std::vector<int64_t>();
  Encoding encoding;
  if (length > 0) {
    const int64_t most = length - count_special(items);
    SPARSEBIT_CHECK(most >= 0, InvalidArgument, "the special tokens alone exceed the length of ",
                    length);
    const auto [a, b] = lengths_within(std::ssize(first), std::ssize(other), most);
    encoding.truncated = a < std::ssize(first) || b < std::ssize(other);
    first.resize(static_cast<size_t>(std::min(a, most)));
    other.resize(static_cast<size_t>(b));
  }
  for (const Item& item : items) {
    const std::vector<int64_t>& ids = item.kind == Kind::First    ? first
                                      : item.kind == Kind::Second ? other
                                                                  : item.ids;
    encoding.ids.insert(encoding.ids.end(), ids.begin(), ids.end());
    encoding.type_ids.insert(encoding.type_ids.end(), ids.size(), item.type_id);
  }
  return encoding;
}

PostProcessor bert_post_processor(int64_t cls, int64_t sep) {
  return {{special(cls), {Kind::First}, special(sep)},
          {special(cls), {Kind::First}, special(sep), {Kind::Second, 1}, special(sep, 1)}};
}

PostProcessor roberta_post_processor(int64_t cls, int64_t sep) {
  return {{special(cls), {Kind::First}, special(sep)},
          {special(cls), {Kind::First}, special(sep), special(sep), {Kind::Second}, special(sep)}};
}

PostProcessor read_post_processor(const nlohmann::json& json) {
  if (json.is_null()) return {};
  using Reader = std::function<PostProcessor(const nlohmann::json&)>;
  static const std::map<std::string, Reader> readers = {
      {"TemplateProcessing",
       [](const nlohmann::json& json) {
         const nlohmann::json& special = field(json, "special_tokens");
         return PostProcessor(read_template(field(json, "single"), special),
                              read_template(field(json, "pair"), special));
       }},
      {"BertProcessing",
       [](const nlohmann::json& json) {
         return bert_post_processor(id_in(json, "cls"), id_in(json, "sep"));
       }},
      {"RobertaProcessing",
       [](const nlohmann::json& json) {
         return roberta_post_processor(id_in(json, "cls"), id_in(json, "sep"));
       }},
      {"ByteLevel", [](const auto&) { return PostProcessor(); }},
      {"Sequence", read_processors},
  };
  return reader_of(json, readers, "post_processor")(json);
}

}  // namespace sparsebit::text
