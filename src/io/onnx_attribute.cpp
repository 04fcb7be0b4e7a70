#include "sparsebit/io/onnx_attribute.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace sparsebit::io {
namespace {

using onnx::AttributeProto;

constexpr const char* kTextForm = "onnx";
constexpr const char* kBytesForm = "onnx_base64";

/// In bytes; larger attributes use base64, because text form takes up to four characters per byte.
constexpr size_t kLargestText = size_t{1} << 20;
/// The recursion limit of protobuf for binary messages.
constexpr int kDeepest = 100;

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (size_t k = 0; k < 4; ++k) {
      text += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return text;
}

/// The value of each base64 digit; -1 for other characters.
std::array<int8_t, 256> digit_values() {
  std::array<int8_t, 256> values{};
  values.fill(-1);
  for (size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<int8_t>(i);
  }
  return values;
}

std::optional<std::string> from_base64(std::string_view text) {
  static const std::array<int8_t, 256> values = digit_values();
  if (text.size() % 4 != 0) return std::nullopt;
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    const int8_t digit = values[static_cast<unsigned char>(c)];
    if (digit < 0) return std::nullopt;
    group = group << 6 | static_cast<uint32_t>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(group >> bits & 0xFF);
  }
  return bytes;
}

/// Suppresses protobuf's own error output; the caller reports the error.
struct Silence : google::protobuf::io::ErrorCollector {
  void AddError(int /*line*/, int /*column*/, const std::string& /*message*/) override {}
};

std::optional<AttributeProto> parse_text(const std::string& text) {
  Silence silence;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&silence);
  parser.SetRecursionLimit(kDeepest);
  AttributeProto attribute;
  if (!parser.ParseFromString(text, &attribute)) return std::nullopt;
  return attribute;
}

}  // namespace

AttributeText attribute_to_text(const AttributeProto& attribute) {
  const std::string bytes = attribute.SerializeAsString();
  if (bytes.size() <= kLargestText) {
    google::protobuf::TextFormat::Printer printer;
    printer.SetSingleLineMode(true);
    AttributeText result{kTextForm, ""};
    printer.PrintToString(attribute, &result.text);
    const std::optional<AttributeProto> again = parse_text(result.text);
    if (again && again->SerializeAsString() == bytes) return result;
  }
  return {kBytesForm, to_base64(bytes)};
}

std::optional<AttributeProto> attribute_from_text(const std::string& form,
                                                  const std::string& text) {
  if (form == kTextForm) return parse_text(text);
  if (form != kBytesForm) return std::nullopt;
  const std::optional<std::string> bytes = from_base64(text);
  AttributeProto attribute;
  if (!bytes || !attribute.ParseFromString(*bytes)) return std::nullopt;
  return attribute;
}

}  // namespace sparsebit::io
