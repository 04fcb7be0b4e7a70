#include "sparsebit/cli/cli.h"
#include "sparsebit/core/interrupt.h"

#include <malloc.h>

#include <unistd.h>

#include <csignal>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>

namespace {

/// Tensors of a layer are as large as those of the layer before. By default glibc gives large
/// blocks back to the system and asks for new, empty pages each time, which takes as long as some
/// layers.
void keep_memory_for_next_tensor() {
  constexpr int kBytes = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kBytes);
  mallopt(M_TRIM_THRESHOLD, kBytes);
}

/// An exception that nothing can catch: thrown where none may be, or for want of memory while
/// another one is handled. The message needs no memory.
[[noreturn]] void end_with_message() {
  const char* message = "error: internal error: an exception that was not caught\n";
  try {
    if (std::current_exception()) throw;
  } catch (const std::bad_alloc&) {
    message = "error: not enough memory\n";
  } catch (...) {
  }
  sparsebit::remove_unfinished_files();
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message, std::strlen(message));
  _exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  std::set_terminate(end_with_message);
  keep_memory_for_next_tensor();
  sparsebit::clean_up_on_interrupt();
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is a failed write, which is an error
  return sparsebit::cli::run(argc, argv, std::cout, std::cerr);
}
