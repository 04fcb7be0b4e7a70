#include "cli/terminal_output.h"

#include "sparsebit/core/printable_text.h"
#include "sparsebit/core/terminal.h"

#include <array>
#include <utility>

namespace sparsebit::cli {
namespace {

constexpr std::string_view kRed = "\x1b[31m", kGreen = "\x1b[32m", kYellow = "\x1b[33m",
                           kUsual = "\x1b[0m";

std::string coloured(std::string_view word, std::string_view colour) {
  return std::string(colour).append(word).append(kUsual);
}

/// `lines` with the verdict of each line "certificate: VERDICT ..." coloured.
std::string with_coloured_verdicts(std::string lines) {
  constexpr std::array verdicts = {std::pair(std::string_view("passed"), kGreen),
                                   std::pair(std::string_view("FAILED"), kRed)};
  constexpr std::string_view kTitle = "certificate: ";
  for (size_t line = 0; line < lines.size();) {
    for (const auto& [word, colour] : verdicts) {
      const std::string_view rest = std::string_view(lines).substr(line);
      if (rest.starts_with(kTitle) && rest.substr(kTitle.size()).starts_with(word))
        lines.replace(line + kTitle.size(), word.size(), coloured(word, colour));
    }
    const size_t end = lines.find('\n', line);
    line = end == std::string::npos ? lines.size() : end + 1;
  }
  return lines;
}

std::string heading(std::ostream& err, std::string_view word, std::string_view colour) {
  return wants_colour(err) ? coloured(word, colour) : std::string(word);
}

}  // namespace

PrintableStream::PrintableStream(std::ostream& target)
    : std::ostream(nullptr), buffer_(target, wants_colour(target)) {
  rdbuf(&buffer_);
}

PrintableBuffer::int_type PrintableBuffer::overflow(int_type character) {
  if (traits_type::eq_int_type(character, traits_type::eof()))
    return traits_type::not_eof(character);
  const char byte = traits_type::to_char_type(character);
  return xsputn(&byte, 1) == 1 ? character : traits_type::eof();
}

std::streamsize PrintableBuffer::xsputn(const char* text, std::streamsize size) {
  pending_.append(text, static_cast<size_t>(size));
  return pass_on(/*all=*/false) ? size : 0;
}

int PrintableBuffer::sync() {
  const bool written = pass_on(/*all=*/true);
  target_.flush();
  return written && target_ ? 0 : -1;
}

bool PrintableBuffer::pass_on(bool all) {
  size_t end = all ? pending_.size() : complete_bytes(pending_);
  if (with_colours_ && !all) end = pending_.rfind('\n') + 1;  // 0: there is no whole line yet
  const std::string lines = printable_lines(std::string_view(pending_).substr(0, end));
  pending_.erase(0, end);
  target_ << (with_colours_ ? with_coloured_verdicts(lines) : lines);
  return target_.good();
}

void write_error(std::ostream& err, std::string_view text) {
  err << heading(err, "error:", kRed) << ' ' << text << '\n';
}

void write_warning(std::ostream& err, std::string_view text) {
  err << heading(err, "warning:", kYellow) << ' ' << printable(text, kMostOfMessage) << '\n';
}

}  // namespace sparsebit::cli
