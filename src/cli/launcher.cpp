// The installed command. It answers `--version` and `--help` itself, because loading libtorch is
// slow, and starts the program for everything else.

#include "help_texts.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <string>

namespace {

/// The text that the program would print for these arguments; null: start the program.
const char* text_for(int argc, char** argv) {
  const bool asks_for_command = argc == 3 && std::strcmp(argv[2], "--help") == 0;
  if (argc != 2 && !asks_for_command) return nullptr;
  for (const HelpText& known : kHelpTexts) {
    if (std::strcmp(argv[1], known.arguments) == 0)
      return asks_for_command == known.is_command ? known.text : nullptr;
  }
  return nullptr;
}

/// PREFIX/libexec/sparsebit/sparsebit-program for PREFIX/bin/sparsebit; empty if /proc/self/exe
/// cannot be read.
std::string program_path() {
  std::array<char, PATH_MAX> path = {};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (length <= 0) return "";
  const std::string self(path.data(), static_cast<size_t>(length));
  const std::string folder = self.substr(0, self.rfind('/'));
  return folder.substr(0, folder.rfind('/')) + "/libexec/sparsebit/sparsebit-program";
}

}  // namespace

int main(int argc, char** argv) {
  if (const char* text = text_for(argc, argv)) {
    const bool written = std::fputs(text, stdout) >= 0 && std::fflush(stdout) == 0;
    if (!written) std::fputs("error: the output could not be written\n", stderr);
    return written ? 0 : 1;
  }
  const std::string program = program_path();
  execv(program.c_str(), argv);  // returns only when it fails
  std::fprintf(stderr, "error: %s: %s; install sparsebit again\n", program.c_str(),
               std::strerror(errno));
  return 1;
}
