#pragma once

#include "sparsebit/core/error.h"

#include <c10/util/Exception.h>

#include <new>
#include <string>

namespace sparsebit {

/// An exception's own text; libtorch's without its backtrace.
inline std::string message_of(const std::exception& e) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&e);
  return torch_error ? torch_error->what_without_backtrace() : e.what();
}

/// Runs `run`. Whatever it throws leaves as Error with one more context frame; exceptions of
/// libtorch and of the libraries below it become InvalidArgument with their own text. Only
/// std::bad_alloc passes as it is: nobody's argument was wrong.
///
/// @param frame  makes the frame's text; called only on failure.
template <class Run, class Frame>
auto with_context(const Run& run, const Frame& frame) -> decltype(run()) {
  try {
    return run();
  } catch (Error& e) {
    e.add_context(frame());
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    Error error(ErrorKind::InvalidArgument, message_of(e));
    error.add_context(frame());
    throw error;
  }
}

}  // namespace sparsebit
