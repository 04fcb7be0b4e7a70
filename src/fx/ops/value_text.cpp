#include "sparsebit/fx/ops/value_text.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace sparsebit::fx {
namespace {

constexpr int64_t kLargestWrittenTensor = 16;
constexpr int kDeepestNesting = 200;  // more than any model has, and no stack overflow

using NodeText = std::function<std::string(const Node&)>;

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}

std::string quote(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string join(const std::vector<Value>& items, const NodeText& node_text) {
  std::string text;
  for (const Value& item : items) {
    if (!text.empty()) text += ", ";
    text += format_value(item, node_text);
  }
  return text;
}

std::string nested_numbers(const at::Tensor& tensor) {
  if (tensor.dim() == 0) {
    if (tensor.scalar_type() == at::kBool) return tensor.item<bool>() ? "True" : "False";
    if (at::isIntegralType(tensor.scalar_type(), false))
      return std::to_string(tensor.item<int64_t>());
    return format_double(tensor.item<double>());
  }
  std::string text;
  for (int64_t i = 0; i < tensor.size(0); ++i) text += (i ? ", " : "") + nested_numbers(tensor[i]);
  return "[" + text + "]";
}

std::string format_tensor(const at::Tensor& tensor) {
  const std::string dtype = dtype_name(tensor.scalar_type());
  const bool writable = tensor.numel() > 0 && tensor.numel() <= kLargestWrittenTensor &&
                        !tensor.is_complex() && tensor.device().is_cpu();
  if (!writable) return fmt::format("tensor(<{}[{}]>)", dtype, c10::Join(", ", tensor.sizes()));
  return fmt::format("tensor({}, dtype=torch.{})", nested_numbers(tensor.detach()), dtype);
}

/// Keys are written bare, as FX does, unless that could not be read back.
std::string key_text(const std::string& key) {
  const bool bare = !key.empty() && std::all_of(key.begin(), key.end(), is_name_char);
  return bare ? key : quote(key);
}

struct Formatter {
  const NodeText& node_text;

  std::string operator()(None) const { return "None"; }
  std::string operator()(bool v) const { return v ? "True" : "False"; }
  std::string operator()(int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const { return format_double(v); }
  std::string operator()(const std::string& v) const { return quote(v); }
  std::string operator()(at::ScalarType v) const { return "torch." + dtype_name(v); }
  std::string operator()(const at::Device& v) const { return v.str(); }
  std::string operator()(const at::Tensor& v) const { return format_tensor(v); }
  std::string operator()(Node* v) const { return node_text(*v); }
  std::string operator()(const List& v) const { return "[" + join(v.items, node_text) + "]"; }
  std::string operator()(const Tuple& v) const {
    return "(" + join(v.items, node_text) + (v.items.size() == 1 ? ",)" : ")");
  }
  std::string operator()(const Dict& v) const {
    std::string text;
    for (const auto& [name, item] : v.items) {
      text += (text.empty() ? "" : ", ") + key_text(name) + ": " + format_value(item, node_text);
    }
    return "{" + text + "}";
  }
  std::string operator()(const Slice& v) const {
    return "slice(" + join(v.bounds, node_text) + ")";
  }
  std::string operator()(Ellipsis) const { return "..."; }
};

const std::vector<std::pair<std::string_view, at::ScalarType>>& dtypes_by_name() {
  static const std::vector<std::pair<std::string_view, at::ScalarType>> table = {
      {"torch.uint8", at::kByte},
      {"torch.int8", at::kChar},
      {"torch.int16", at::kShort},
      {"torch.int32", at::kInt},
      {"torch.int64", at::kLong},
      {"torch.float16", at::kHalf},
      {"torch.float32", at::kFloat},
      {"torch.float64", at::kDouble},
      {"torch.bool", at::kBool},
      {"torch.bfloat16", at::kBFloat16},
      {"torch.complex64", at::kComplexFloat},
      {"torch.complex128", at::kComplexDouble},
  };
  return table;
}

}  // namespace

std::string format_double(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string format_value(const Value& value, const NodeText& node_text) {
  return std::visit(Formatter{node_text}, value.variant());
}

ValueReader::ValueReader(std::string_view text, std::string where, NameLookup lookup, Names names)
    : text_(text), where_(std::move(where)), lookup_(std::move(lookup)), names_(names) {}

void ValueReader::fail(const std::string& expected) {
  const std::string found =
      pos_ >= text_.size() ? "the end" : fmt::format("'{}'", text_.substr(pos_, 20));
  throw Error(ErrorKind::InvalidArgument,
              {.what = fmt::format("cannot read the text at column {}", pos_ + 1),
               .expected = expected,
               .found = found,
               .where = where_});
}

void ValueReader::skip_space() {
  while (pos_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[pos_]))) ++pos_;
}

bool ValueReader::at_end() {
  skip_space();
  return pos_ >= text_.size();
}

char ValueReader::peek() {
  skip_space();
  return pos_ < text_.size() ? text_[pos_] : '\0';
}

bool ValueReader::try_consume(std::string_view token) {
  skip_space();
  if (!text_.substr(pos_).starts_with(token)) return false;
  pos_ += token.size();
  return true;
}

void ValueReader::expect(std::string_view token) {
  if (!try_consume(token)) fail(fmt::format("'{}'", token));
}

std::string_view ValueReader::read_name() {
  skip_space();
  const size_t start = pos_;
  while (pos_ < text_.size() && is_name_char(text_[pos_])) ++pos_;
  return text_.substr(start, pos_ - start);
}

std::vector<Value> ValueReader::read_items(char close, bool* trailing_comma) {
  std::vector<Value> items;
  bool comma = true;
  while (peek() != close) {
    if (!comma) fail(fmt::format("',' or '{}'", close));
    items.push_back(read_value());
    comma = try_consume(",");
  }
  if (trailing_comma) *trailing_comma = comma && !items.empty();
  expect(std::string_view(&close, 1));
  return items;
}

Value ValueReader::read_value() {
  if (++depth_ > kDeepestNesting)
    fail(fmt::format("at most {} levels of nesting", kDeepestNesting));
  const auto leave = std::unique_ptr<int, void (*)(int*)>(&depth_, [](int* depth) { --*depth; });
  if (try_consume("...")) return Ellipsis();
  if (try_consume("[")) return List(read_items(']'));
  if (try_consume("(")) return read_parenthesized();
  if (try_consume("{")) return read_dict();
  if (try_consume("%")) return read_prefixed_name();
  const char c = peek();
  if (c == '\'' || c == '"') return read_string();
  if (std::isdigit(static_cast<unsigned char>(c)) || c == '-' || c == '+') return read_number();
  return read_word();
}

Value ValueReader::read_parenthesized() {
  bool trailing_comma = false;
  std::vector<Value> items = read_items(')', &trailing_comma);
  if (items.size() == 1 && !trailing_comma) return items[0];
  return Tuple(std::move(items));
}

Value ValueReader::read_dict() {
  Dict dict;
  bool comma = true;
  while (peek() != '}') {
    if (!comma) fail("',' or '}'");
    std::string key(peek() == '\'' || peek() == '"' ? read_string().string() : read_name());
    if (key.empty()) fail("a key");
    expect(":");
    dict.items.emplace_back(std::move(key), read_value());
    comma = try_consume(",");
  }
  expect("}");
  return dict;
}

Value ValueReader::read_string() {
  const char quote_char = text_[pos_++];
  std::string text;
  while (pos_ < text_.size() && text_[pos_] != quote_char) {
    if (text_[pos_] == '\\' && pos_ + 1 < text_.size()) {
      ++pos_;
      text += text_[pos_] == 'n' ? '\n' : text_[pos_];
    } else {
      text += text_[pos_];
    }
    ++pos_;
  }
  if (pos_ >= text_.size()) fail(fmt::format("a closing {}", quote_char));
  ++pos_;
  return text;
}

Value ValueReader::read_number() {
  if (try_consume("-inf")) return -std::numeric_limits<double>::infinity();
  if (text_[pos_] == '+') ++pos_;
  const std::string_view text = rest();
  const size_t length = std::min(text.find_first_not_of("0123456789+-.eE"), text.size());
  const std::string_view number = text.substr(0, length);
  const char* end = number.data() + number.size();
  int64_t integer = 0;
  const auto [integer_end, integer_error] = std::from_chars(number.data(), end, integer);
  if (integer_end == end) {
    if (integer_error != std::errc()) fail("an integer of at most 64 bits");
    pos_ += length;
    return integer;
  }
  double real = 0;
  if (const auto [stop, error] = std::from_chars(number.data(), end, real);
      error == std::errc() && stop == end) {
    pos_ += length;
    return real;
  }
  fail("a number");
}

Value ValueReader::read_prefixed_name() {
  const size_t start = pos_;
  const std::string_view name = read_name();
  const std::optional<Value> value = lookup_ ? lookup_(name) : std::nullopt;
  if (value) return *value;
  pos_ = start;
  fail("a name that is defined above");
}

Value ValueReader::read_word() {
  const size_t start = pos_;
  const std::string word(read_name());
  if (names_ == Names::Bare && peek() != '(') {
    if (const std::optional<Value> value = lookup_(word)) return *value;
  }
  if (word == "None") return None();
  if (word == "True") return true;
  if (word == "False") return false;
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "tensor") return read_tensor();
  if (word == "slice") return read_slice();
  if (word == "cpu" || word == "cuda" || word == "meta") return read_device(word);
  for (const auto& [name, dtype] : dtypes_by_name()) {
    if (name == word) return dtype;
  }
  pos_ = start;
  fail("a value (strings are quoted)");
}

Value ValueReader::read_device(const std::string& type) {
  if (rest().empty() || rest()[0] != ':') return at::Device(type);
  const size_t length = std::min(rest().find_first_not_of("0123456789", 1), rest().size());
  if (length < 2 || length > 3) fail("a device index below 100");
  const std::string index(rest().substr(0, length));
  pos_ += length;
  return at::Device(type + index);
}

Value ValueReader::read_slice() {
  expect("(");
  std::vector<Value> bounds = read_items(')');
  if (bounds.size() != 3) fail("slice(start, stop, step)");
  return Slice(bounds[0], bounds[1], bounds[2]);
}

namespace {

/// Appends the numbers inside nested lists and records the size of each level in `shape`.
void flatten_numbers(const Value& value, std::vector<Value>& numbers, std::vector<int64_t>& shape,
                     size_t depth) {
  if (!value.is_sequence()) {
    numbers.push_back(value);
    return;
  }
  const auto size = static_cast<int64_t>(value.items().size());
  if (depth == shape.size()) shape.push_back(size);
  SPARSEBIT_CHECK(shape[depth] == size, InvalidArgument, "tensor(...) rows have unequal lengths");
  for (const Value& item : value.items()) flatten_numbers(item, numbers, shape, depth + 1);
}

at::Tensor tensor_from_numbers(const std::vector<Value>& numbers, at::ScalarType dtype) {
  // Integers are not converted to double, which would change those above 2^53.
  const bool integral = at::isIntegralType(dtype, /*includeBool=*/true);
  at::Tensor flat =
      at::empty({static_cast<int64_t>(numbers.size())}, integral ? at::kLong : at::kDouble);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (integral) {
      flat.data_ptr<int64_t>()[i] = numbers[i].to_int();
    } else {
      flat.data_ptr<double>()[i] = numbers[i].to_double();
    }
  }
  return flat.to(dtype);
}

}  // namespace

Value ValueReader::read_tensor() {
  expect("(");
  if (peek() == '<') fail("the elements of the tensor; large ones are not written out");
  const Value content = read_value();
  expect(",");
  expect("dtype=");
  const at::ScalarType dtype = read_value().dtype();
  expect(")");
  std::vector<Value> numbers;
  std::vector<int64_t> shape;
  flatten_numbers(content, numbers, shape, 0);
  SPARSEBIT_CHECK(c10::multiply_integers(shape) == static_cast<int64_t>(numbers.size()),
                  InvalidArgument, "tensor(...) rows have unequal lengths");
  return tensor_from_numbers(numbers, dtype).reshape(shape);
}

}  // namespace sparsebit::fx
