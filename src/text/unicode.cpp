#include "text/unicode.h"

#include "sparsebit/core/error.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <array>

namespace sparsebit::text {
namespace {

icu::UnicodeString utf16(std::string_view text) {
  return icu::UnicodeString::fromUTF8(
      icu::StringPiece(text.data(), static_cast<int32_t>(text.size())));
}

std::string utf8(const icu::UnicodeString& text) {
  std::string result;
  text.toUTF8String(result);
  return result;
}

const icu::Normalizer2& normalizer(NormalForm form) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* found = nullptr;
  switch (form) {
    case NormalForm::Nfc:
      found = icu::Normalizer2::getNFCInstance(status);
      break;
    case NormalForm::Nfd:
      found = icu::Normalizer2::getNFDInstance(status);
      break;
    case NormalForm::Nfkc:
      found = icu::Normalizer2::getNFKCInstance(status);
      break;
    case NormalForm::Nfkd:
      found = icu::Normalizer2::getNFKDInstance(status);
      break;
  }
  SPARSEBIT_CHECK(U_SUCCESS(status), Internal, "ICU data is missing: ", u_errorName(status));
  return *found;
}

}  // namespace

std::vector<CodePoint> code_points(std::string_view text) {
  const icu::UnicodeString units = utf16(text);
  std::vector<CodePoint> points;
  for (int32_t i = 0; i < units.length(); i = units.moveIndex32(i, 1))
    points.push_back(units.char32At(i));
  return points;
}

std::string utf8(CodePoint c) { return utf8(icu::UnicodeString(c)); }

std::vector<std::string> characters(std::string_view text) {
  std::vector<std::string> all;
  for (const CodePoint c : code_points(text)) all.push_back(utf8(c));
  return all;
}

std::string normalized(std::string_view text, NormalForm form) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::UnicodeString result = normalizer(form).normalize(utf16(text), status);
  SPARSEBIT_CHECK(U_SUCCESS(status), InvalidArgument,
                  "cannot normalize a text: ", u_errorName(status));
  return utf8(result);
}

std::string lower_case(std::string_view text) {
  std::string result;
  for (const CodePoint c : code_points(text))  // U+0130 is the only letter that maps to two
    result += c == 0x130 ? "i\u0307" : utf8(u_tolower(c));
  return result;
}

std::string without_marks(std::string_view text, Marks marks) {
  const uint32_t dropped = marks == Marks::All ? U_GC_M_MASK : U_GC_MN_MASK;
  std::string kept;
  for (const CodePoint c : code_points(text)) {
    if ((U_GET_GC_MASK(c) & dropped) == 0) kept += utf8(c);
  }
  return kept;
}

std::string stripped(std::string_view text, bool left, bool right) {
  const std::vector<CodePoint> all = code_points(text);
  size_t from = 0, to = all.size();
  while (left && from < to && is_space(all[from])) ++from;
  while (right && to > from && is_space(all[to - 1])) --to;
  std::string kept;
  for (size_t i = from; i < to; ++i) kept += utf8(all[i]);
  return kept;
}

bool is_space(CodePoint c) { return u_isUWhiteSpace(c); }

bool is_control(CodePoint c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  return (U_GET_GC_MASK(c) & (U_GC_C_MASK & ~U_GC_CN_MASK)) != 0;
}

bool is_punctuation(CodePoint c) {
  const bool is_ascii_sign = (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
                             (c >= 123 && c <= 126);
  return is_ascii_sign || (U_GET_GC_MASK(c) & U_GC_P_MASK) != 0;
}

bool is_number(CodePoint c) { return (U_GET_GC_MASK(c) & U_GC_N_MASK) != 0; }

/// The blocks of CJK ideographs around which BERT adds spaces.
bool is_chinese(CodePoint c) {
  constexpr std::array<std::pair<CodePoint, CodePoint>, 8> kBlocks = {{{0x4E00, 0x9FFF},
                                                                       {0x3400, 0x4DBF},
                                                                       {0x20000, 0x2A6DF},
                                                                       {0x2A700, 0x2B73F},
                                                                       {0x2B740, 0x2B81F},
                                                                       {0x2B920, 0x2CEAF},
                                                                       {0xF900, 0xFAFF},
                                                                       {0x2F800, 0x2FA1F}}};
  return std::any_of(kBlocks.begin(), kBlocks.end(),
                     [&](const auto& block) { return c >= block.first && c <= block.second; });
}

}  // namespace sparsebit::text
