#include "io/npy_header.h"

#include "io/byte_count.h"

#include "sparsebit/core/error.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace sparsebit::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kAlignment = 64;  // of the data
constexpr size_t kMostDims = 64;   // limit of libtorch's indexing

/// Type codes of the format, without byte order.
constexpr std::array<std::pair<std::string_view, at::ScalarType>, 11> kTypes = {{
    {"f4", at::kFloat},
    {"f8", at::kDouble},
    {"f2", at::kHalf},
    {"i8", at::kLong},
    {"i4", at::kInt},
    {"i2", at::kShort},
    {"i1", at::kChar},
    {"u1", at::kByte},
    {"b1", at::kBool},
    {"c8", at::kComplexFloat},
    {"c16", at::kComplexDouble},
}};

[[noreturn]] void fail(ErrorKind kind, const std::string& where, std::string what) {
  throw Error(kind, {.what = std::move(what), .where = where});
}

uint32_t little_endian(std::string_view bytes) {
  uint32_t number = 0;
  for (size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<uint8_t>(bytes[i]);
  return number;
}

/// The header's text, a Python dict literal. Sets header.data_begin.
std::string_view header_text(std::string_view bytes, const std::string& where, NpyHeader& header) {
  if (!bytes.starts_with(kMagic)) {
    fail(ErrorKind::InvalidModel, where,
         bytes.empty() ? "not a .npy file: it is empty"
                       : "not a .npy file: it does not start with \\x93NUMPY");
  }
  bytes.remove_prefix(kMagic.size());
  const int major = bytes.empty() ? 1 : static_cast<uint8_t>(bytes[0]);
  if (major < 1 || major > 3) {
    fail(ErrorKind::Unsupported, where,
         c10::str(".npy format version ", major, " is not supported; expected 1 to 3"));
  }
  const size_t length_bytes = major == 1 ? 2 : 4;
  const size_t prefix = 2 + length_bytes;  // version, length
  if (bytes.size() < prefix) fail(ErrorKind::InvalidModel, where, "the .npy header is cut off");
  const size_t length = little_endian(bytes.substr(2, length_bytes));
  if (length > bytes.size() - prefix) {
    fail(ErrorKind::InvalidModel, where,
         c10::str("the .npy header has ", length, " bytes, but only ", bytes.size() - prefix,
                  " follow; is the file complete?"));
  }
  header.data_begin = kMagic.size() + prefix + length;
  return bytes.substr(prefix, length);
}

/// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`: three known keys, each
/// once, in any order.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  void parse(NpyHeader& header) {
    bool has_type = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !std::exchange(has_type, true)) {
        read_type(header);
      } else if (key == "fortran_order" && !std::exchange(has_order, true)) {
        header.fortran_order = boolean();
      } else if (key == "shape" && !std::exchange(has_shape, true)) {
        header.shape = shape();
      } else {
        malformed("an unexpected key");
      }
      if (!accept(',') && peek() != '}') malformed("no ',' or '}'");
    }
    skip_space();
    if (position_ != text_.size()) malformed("data after the closing '}'");
    if (!has_type || !has_order || !has_shape) {
      malformed("one of 'descr', 'fortran_order' and 'shape' missing");
    }
  }

 private:
  [[noreturn]] void malformed(const std::string& found) const {
    fail(ErrorKind::InvalidModel, where_,
         c10::str("the .npy header is not well formed: ", found, " at character ", position_));
  }

  void skip_space() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) {
      ++position_;
    }
  }

  char peek() {
    skip_space();
    return position_ < text_.size() ? text_[position_] : '\0';
  }

  bool accept(char c) {
    if (peek() != c) return false;
    ++position_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) malformed(c10::str("no '", c, "'"));
  }

  bool accept(std::string_view word) {
    skip_space();
    if (!text_.substr(position_).starts_with(word)) return false;
    position_ += word.size();
    return true;
  }

  std::string_view quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') malformed("no quoted string");
    const size_t begin = ++position_;
    const size_t end = text_.find(quote, begin);
    if (end == std::string_view::npos) malformed("an unterminated string");
    position_ = end + 1;
    return text_.substr(begin, end - begin);
  }

  bool boolean() {
    if (accept("True")) return true;
    if (!accept("False")) malformed("neither True nor False");
    return false;
  }

  std::vector<int64_t> shape() {
    std::vector<int64_t> dims;
    expect('(');
    while (!accept(')')) {
      skip_space();
      const char* const end = text_.data() + text_.size();
      int64_t dim = 0;
      const auto [stop, error] = std::from_chars(text_.data() + position_, end, dim);
      if (error != std::errc() || dim < 0) malformed("an invalid dimension");
      position_ = static_cast<size_t>(stop - text_.data());
      accept('L');  // Python 2 wrote long integers as 3L
      dims.push_back(dim);
      if (dims.size() > kMostDims) {
        fail(ErrorKind::Unsupported, where_,
             c10::str("arrays of more than ", kMostDims, " dimensions are not supported"));
      }
      if (!accept(',') && (peek() != ')' || dims.size() == 1)) malformed("no ','");
    }
    return dims;
  }

  void read_type(NpyHeader& header) {
    if (peek() == '[') fail(ErrorKind::Unsupported, where_, "structured arrays are not supported");
    const std::string_view descr = quoted();
    const char order = descr.empty() ? '\0' : descr.front();
    const bool has_order = order == '<' || order == '>' || order == '|' || order == '=';
    const std::string_view name = descr.substr(has_order ? 1 : 0);
    const auto* const type = std::find_if(kTypes.begin(), kTypes.end(),
                                          [&](const auto& entry) { return entry.first == name; });
    if (type == kTypes.end()) {
      fail(ErrorKind::Unsupported, where_,
           c10::str("unsupported array type '", printable(descr),
                    "'; supported are b1, i1 to i8, u1, f2 to f8, c8 and c16"));
    }
    header.dtype = type->second;
    header.big_endian = order == '>';
  }

  /// File contents made safe for a one-line message.
  static std::string printable(std::string_view text) {
    std::string safe(text.substr(0, 32));
    std::replace_if(
        safe.begin(), safe.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return safe;
  }

  std::string_view text_;
  const std::string& where_;
  size_t position_ = 0;
};

void check_size(const NpyHeader& header, size_t found, const std::string& where) {
  const auto item = static_cast<int64_t>(c10::elementSize(header.dtype));
  const std::optional<int64_t> bytes = byte_count(header.shape, item);
  if (!bytes) {
    fail(ErrorKind::InvalidModel, where,
         c10::str("the size of shape (", c10::Join(", ", header.shape), ") overflows 64 bits"));
  }
  const int64_t needed = *bytes;
  if (static_cast<size_t>(needed) != found) {
    fail(ErrorKind::InvalidModel, where,
         c10::str("shape (", c10::Join(", ", header.shape), ") of ", c10::toString(header.dtype),
                  " needs ", needed, " bytes of data, but there are ", found));
  }
}

}  // namespace

NpyHeader read_npy_header(std::string_view bytes, const std::string& where) {
  NpyHeader header;
  HeaderParser(header_text(bytes, where, header), where).parse(header);
  check_size(header, bytes.size() - header.data_begin, where);
  return header;
}

std::optional<std::string> write_npy_header(at::ScalarType dtype, at::IntArrayRef shape) {
  const auto* const type = std::find_if(kTypes.begin(), kTypes.end(),
                                        [&](const auto& entry) { return entry.second == dtype; });
  if (type == kTypes.end()) return {};
  const char order = c10::elementSize(dtype) == 1 ? '|' : '<';
  std::string text =
      c10::str("{'descr': '", order, type->first, "', 'fortran_order': False, 'shape': (",
               c10::Join(", ", shape), shape.size() == 1 ? "," : "", "), }");
  const size_t prefix = kMagic.size() + 4;
  const size_t unpadded = prefix + text.size() + 1;
  text.append((unpadded + kAlignment - 1) / kAlignment * kAlignment - unpadded, ' ');
  text += '\n';

  std::string header(kMagic);
  header +=
      {'\x01', '\x00', static_cast<char>(text.size() & 0xFF), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace sparsebit::io
