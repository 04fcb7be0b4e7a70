#include "sparsebit/core/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string_view>

namespace sparsebit {
namespace {

/// -1: of neither stream.
int descriptor_of(const std::ostream& stream) {
  return &stream == &std::cout ? STDOUT_FILENO : &stream == &std::cerr ? STDERR_FILENO : -1;
}

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

bool is_terminal(const std::ostream& stream) {
  const int descriptor = descriptor_of(stream);
  return descriptor >= 0 && isatty(descriptor) == 1;
}

bool moves_cursor(const std::ostream& stream) {
  const std::string_view kind = environment("TERM");
  return is_terminal(stream) && !kind.empty() && kind != "dumb";
}

bool wants_colour(const std::ostream& stream) {
  if (!environment("NO_COLOR").empty()) return false;
  const std::string_view force = environment("CLICOLOR_FORCE");
  return (!force.empty() && force != "0") || moves_cursor(stream);
}

int64_t terminal_columns(const std::ostream& stream) {
  constexpr int64_t kUsual = 80;
  const int descriptor = descriptor_of(stream);
  winsize size{};
  if (descriptor < 0 || ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return kUsual;
  return size.ws_col;
}

bool reflows_lines() {
  return environment("XTERM_VERSION").empty() && environment("TERM") != "linux";
}

}  // namespace sparsebit
