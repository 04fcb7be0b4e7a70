#include "easy/error_text.h"

#include "sparsebit/core/error_context.h"
#include "sparsebit/core/printable_text.h"

namespace sparsebit::easy {
namespace {

std::string printable_part(const std::string& text) { return printable(text, kMostOfMessage); }

std::string printable_error(const Error& error) {
  const ErrorDetails& details = error.details();
  Error safe(error.kind(), {.what = printable_part(details.what),
                            .expected = printable_part(details.expected),
                            .found = printable_part(details.found),
                            .where = printable_part(details.where)});
  for (const std::string& frame : error.context()) safe.add_context(printable_part(frame));
  return safe.what();
}

}  // namespace

std::string error_text(const std::exception& error) {
  const auto* ours = dynamic_cast<const Error*>(&error);
  return ours ? printable_error(*ours) : printable_part(message_of(error));
}

}  // namespace sparsebit::easy
