#include "sparsebit/cli/cli.h"
#include "sparsebit/core/interrupt.h"
#include "sparsebit/core/mapped_file.h"

#include <malloc.h>

#include <unistd.h>

#include <csignal>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>

namespace {

/// Keeps freed memory for the tensors of the next layer. By default glibc returns large blocks to
/// the system and requests new pages each time, which can take as long as computing a layer.
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

/// A crash is a defect, ours or a library's (oneDNN's when memory is short): it says so, leaves no
/// unfinished files, and then ends the process as it always does.
void on_crash(int signal) {
  constexpr const char* kMessage =
      "error: sparsebit crashed, which is a bug, or memory is short: please report it with the "
      "command and its input\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kMessage, std::strlen(kMessage));
  sparsebit::remove_unfinished_files();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// On a stack of its own: a crash may be that of a stack that is full.
void report_crashes() {
  constexpr size_t kStackBytes = 64 << 10;
  static char stack[kStackBytes];
  const stack_t alternate{.ss_sp = stack, .ss_flags = 0, .ss_size = kStackBytes};
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGILL}) sigaction(signal, &action, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  std::set_terminate(end_with_message);
  keep_memory_for_next_tensor();
  sparsebit::clean_up_on_interrupt();
  report_crashes();
  sparsebit::report_shrunk_files();
  // Exceeding the file size limit is then a failed write, which is reported.
  std::signal(SIGXFSZ, SIG_IGN);
  return sparsebit::cli::run(argc, argv, std::cout, std::cerr);
}
