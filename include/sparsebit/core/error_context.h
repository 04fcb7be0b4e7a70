#pragma once

#include "sparsebit/core/error.h"

#include <c10/util/Exception.h>

#include <new>
#include <string>

namespace sparsebit {

/// What went wrong, in one sentence: an Error's own text; of other exceptions the first line,
/// without names of their library, places in its sources and requests to report a bug.
std::string reason_of(const std::exception& e);

/// The same, and who says so where that is PyTorch: "PyTorch refused this: mat1 and mat2 shapes
/// cannot be multiplied (1x3 and 4x2)".
std::string message_of(const std::exception& e);

/// `error` with `prefix` before its text, such as a place in a config. Keeps its frames.
Error with_prefix(const std::string& prefix, const Error& error, ErrorKind kind);

/// TooLarge for libtorch's errors of missing memory and impossible sizes, else InvalidArgument; an
/// Error's own.
ErrorKind kind_of(const std::exception& e);

/// Runs `run`. Exceptions thrown by `run` are rethrown as Error with one more context frame;
/// exceptions of libtorch and other libraries become Error of kind_of() with their own message.
/// Only std::bad_alloc passes unchanged, because no argument was wrong.
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
    Error error(kind_of(e), message_of(e));
    error.add_context(frame());
    throw error;
  }
}

}  // namespace sparsebit
