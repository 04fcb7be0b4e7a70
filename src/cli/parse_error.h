#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace sparsebit::cli {

/// What is wrong with a command line that `app` has refused, with a near name where there is one.
/// Printable.
std::string parse_error_text(const CLI::App& app, const CLI::ParseError& error);

}  // namespace sparsebit::cli
