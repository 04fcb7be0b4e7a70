#include "text/regex.h"

#include "sparsebit/core/error.h"

#include <unicode/regex.h>
#include <unicode/unistr.h>

namespace sparsebit::text {

struct Regex::Pattern {
  std::unique_ptr<icu::RegexPattern> compiled;
};

namespace {

std::unique_ptr<icu::RegexPattern> compile(const std::string& text, uint32_t flags) {
  UErrorCode status = U_ZERO_ERROR;
  UParseError where;
  std::unique_ptr<icu::RegexPattern> compiled(
      icu::RegexPattern::compile(icu::UnicodeString::fromUTF8(text), flags, where, status));
  SPARSEBIT_CHECK(U_SUCCESS(status), InvalidArgument, "the regular expression '", text,
                  "' is malformed: ", u_errorName(status));
  return compiled;
}

std::string utf8(const icu::UnicodeString& text, int32_t from, int32_t to) {
  std::string result;
  text.tempSubStringBetween(from, to).toUTF8String(result);
  return result;
}

}  // namespace

Regex::Regex(std::unique_ptr<Pattern> pattern) : pattern_(std::move(pattern)) {}
Regex::Regex(const std::string& pattern)
    : pattern_(std::make_unique<Pattern>(Pattern{compile(pattern, 0)})) {}
Regex Regex::literally(const std::string& text) {
  return Regex(std::make_unique<Pattern>(Pattern{compile(text, UREGEX_LITERAL)}));
}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

std::vector<std::pair<std::string, bool>> Regex::pieces(const std::string& text) const {
  const icu::UnicodeString units = icu::UnicodeString::fromUTF8(text);
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<icu::RegexMatcher> matcher(pattern_->compiled->matcher(units, status));
  std::vector<std::pair<std::string, bool>> found;
  int32_t end = 0;
  while (U_SUCCESS(status) && matcher->find(status)) {
    const int32_t start = matcher->start(status), stop = matcher->end(status);
    if (start > end) found.emplace_back(utf8(units, end, start), false);
    if (stop > start) found.emplace_back(utf8(units, start, stop), true);
    end = stop;
  }
  SPARSEBIT_CHECK(U_SUCCESS(status), InvalidArgument, "a text of ", text.size(),
                  " bytes cannot be searched: ", u_errorName(status));
  if (end < units.length()) found.emplace_back(utf8(units, end, units.length()), false);
  return found;
}

std::string Regex::replaced(const std::string& text, const std::string& by) const {
  std::string result;
  for (const auto& [piece, matched] : pieces(text)) result += matched ? by : piece;
  return result;
}

}  // namespace sparsebit::text
