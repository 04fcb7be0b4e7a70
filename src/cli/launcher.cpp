// The installed command. It answers `--version` and `--help` itself, because loading libtorch is
// slow, and starts the program for everything else.

#include "help_texts.h"

#include <sys/resource.h>
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
  if (argc != 2 && argc != 3) return nullptr;
  const char* second = argc == 3 ? argv[2] : "";
  for (const HelpText& known : kHelpTexts) {
    const bool is_asked =
        std::strcmp(argv[1], known.first) == 0 && std::strcmp(second, known.second) == 0;
    if (is_asked && (argc == 2) == (*known.second == '\0')) return known.text;
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

/// OpenBLAS, which libtorch loads, tries forever to get its first buffer where address space is
/// short. (Those of other threads are the program's to check, see reserve_blas_buffers().)
bool has_address_space() {
  struct Need {
    decltype(RLIMIT_AS) resource;
    rlim_t bytes;
    const char* name;
  };
  constexpr std::array<Need, 2> needs = {{{RLIMIT_AS, 1'150'000'000, "virtual memory (ulimit -v)"},
                                          {RLIMIT_DATA, 400'000'000, "data (ulimit -d)"}}};
  for (const auto& [resource, bytes, name] : needs) {
    struct rlimit limit {};
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    if (limit.rlim_cur >= bytes) continue;
    std::fprintf(
        stderr,
        "error: the limit on %s is %llu MB, and sparsebit needs %llu MB to start; --max-memory "
        "limits what it uses\n",
        name, static_cast<unsigned long long>(limit.rlim_cur / 1000000),
        static_cast<unsigned long long>(bytes / 1000000));
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (const char* text = text_for(argc, argv)) {
    const bool written = std::fputs(text, stdout) >= 0 && std::fflush(stdout) == 0;
    if (!written) std::fputs("error: the output could not be written\n", stderr);
    return written ? 0 : 1;
  }
  if (!has_address_space()) return 1;
  const std::string program = program_path();
  execv(program.c_str(), argv);  // returns only when it fails
  std::fprintf(stderr, "error: %s: %s; install sparsebit again\n", program.c_str(),
               std::strerror(errno));
  return 1;
}
