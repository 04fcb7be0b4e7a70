#pragma once

#include <exception>
#include <string>

namespace sparsebit::easy {

/// The text of an exception for users: message_of(), safe to print. Each part of an Error, such as
/// one context frame, is escaped and cut by itself, so that lines end only where Error ends them.
std::string error_text(const std::exception& error);

}  // namespace sparsebit::easy
