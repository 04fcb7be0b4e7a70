#pragma once

#include "sparsebit/core/error.h"

#include <c10/util/Exception.h>

#include <new>
#include <string>

namespace sparsebit {

/// The message of an exception; for libtorch exceptions without the backtrace.
inline std::string message_of(const std::exception& e) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&e);
  return torch_error ? torch_error->what_without_backtrace() : e.what();
}

/// Runs `run`. Exceptions thrown by `run` are rethrown as Error with one more context frame;
/// exceptions of libtorch and other libraries become InvalidArgument with their own message. Only
/// std::bad_alloc passes unchanged, because no argument was wrong.
///
/// @param frame  returns the text of the context frame; called only on failure.
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
