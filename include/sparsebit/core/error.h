#pragma once

#include <c10/util/StringUtil.h>

#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace sparsebit {

/// Why something failed, for callers that react to it. The command maps all of them to exit code 1.
enum class ErrorKind {
  InvalidArgument,  ///< a value the caller gave is wrong
  InvalidModel,     ///< a model, graph or module tree is not well formed
  DataDependent,    ///< tracing needed the value of a tensor (data-dependent control flow)
  Unsupported,      ///< valid, but not supported by this build or version
  Io,               ///< a file could not be read or written
  TooLarge,         ///< needs more memory, work or time than the limits allow
  Internal,         ///< a bug in Sparsebit
};

/// The parts of a message. Empty parts are left out of the text.
struct ErrorDetails {
  std::string what = {};      ///< the rule that was broken
  std::string expected = {};  ///< the expected value
  std::string found = {};     ///< the actual value
  std::string where = {};     ///< file, key path or node name
};

/// The only exception type this library throws on purpose.
///
/// The text reads `where: what; expected E, found F`, followed by one indented line for each
/// context frame added while unwinding, innermost first.
class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string what) : Error(kind, ErrorDetails{.what = std::move(what)}) {}
  Error(ErrorKind kind, ErrorDetails details);

  ErrorKind kind() const noexcept { return kind_; }
  const ErrorDetails& details() const noexcept { return details_; }
  const std::vector<std::string>& context() const noexcept { return context_; }
  const char* what() const noexcept override { return text_.c_str(); }

  /// Adds a frame such as "while running pass 'fold-batch-norm'". Call it in a catch block, then
  /// rethrow with `throw;`.
  void add_context(std::string frame);

 private:
  void render();

  ErrorKind kind_;
  ErrorDetails details_;
  std::vector<std::string> context_;
  std::string text_;
};

}  // namespace sparsebit

/// Throws sparsebit::Error unless `cond` holds. Message parts are evaluated only on failure.
#define SPARSEBIT_CHECK(cond, kind, ...)                                               \
  do {                                                                                 \
    if (!(cond)) [[unlikely]]                                                          \
      throw ::sparsebit::Error(::sparsebit::ErrorKind::kind, ::c10::str(__VA_ARGS__)); \
  } while (false)
