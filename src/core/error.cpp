#include "sparsebit/core/error.h"

namespace sparsebit {

Error::Error(ErrorKind kind, ErrorDetails details) : kind_(kind), details_(std::move(details)) {
  render();
}

void Error::add_context(std::string frame) {
  context_.push_back(std::move(frame));
  render();
}

void Error::render() {
  text_.clear();
  if (!details_.where.empty()) text_ += details_.where + ": ";
  text_ += details_.what;
  if (!details_.expected.empty()) text_ += "; expected " + details_.expected;
  if (!details_.found.empty())
    text_ += (details_.expected.empty() ? "; found " : ", found ") + details_.found;
  for (const std::string& frame : context_) text_ += "\n  " + frame;
}

}  // namespace sparsebit
