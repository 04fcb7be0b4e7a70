#pragma once

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace sparsebit::cli {

/// Passes text on with control characters escaped, see printable_lines(): names of a model's file
/// are in it. With colours, the verdict of a certificate is green or red.
class PrintableBuffer : public std::streambuf {
 public:
  PrintableBuffer(std::ostream& target, bool with_colours)
      : target_(target), with_colours_(with_colours) {}

 protected:
  int_type overflow(int_type character) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;

 private:
  bool pass_on(bool all);

  std::ostream& target_;
  bool with_colours_;
  std::string pending_;  ///< the start of a character, or of a line with colours
};

/// A stream that writes to `target` like this.
class PrintableStream : public std::ostream {
 public:
  explicit PrintableStream(std::ostream& target);
  ~PrintableStream() override { flush(); }
  PrintableStream(const PrintableStream&) = delete;
  PrintableStream& operator=(const PrintableStream&) = delete;

 private:
  PrintableBuffer buffer_;
};

/// "error: TEXT", where `text` is printable already.
void write_error(std::ostream& err, std::string_view text);
/// "warning: TEXT" on one line, and not longer than people read.
void write_warning(std::ostream& err, std::string_view text);

}  // namespace sparsebit::cli
