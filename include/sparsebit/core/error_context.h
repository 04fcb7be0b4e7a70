#pragma once

#include "sparsebit/core/error.h"

#include <c10/util/Exception.h>

namespace sparsebit {

/// Runs `run`. Whatever it throws leaves as Error with one more context frame; exceptions of
/// libtorch and of the libraries below it become InvalidArgument with their own text.
///
/// @param frame  makes the frame's text; called only on failure.
template <class Run, class Frame>
auto with_context(const Run& run, const Frame& frame) -> decltype(run()) {
  const auto convert = [&frame](const char* text) {
    Error error(ErrorKind::InvalidArgument, text);
    error.add_context(frame());
    return error;
  };
  try {
    return run();
  } catch (Error& e) {
    e.add_context(frame());
    throw;
  } catch (const c10::Error& e) {
    throw convert(e.what_without_backtrace());
  } catch (const std::exception& e) {
    throw convert(e.what());
  }
}

}  // namespace sparsebit
