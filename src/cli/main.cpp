#include "sparsebit/cli/cli.h"
#include "sparsebit/core/interrupt.h"

#include <malloc.h>

#include <csignal>
#include <iostream>

namespace {

/// Keeps freed memory for the tensors of the next layer. By default glibc returns large blocks to
/// the system and requests new pages each time, which can take as long as computing a layer.
void keep_memory_for_next_tensor() {
  constexpr int kBytes = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kBytes);
  mallopt(M_TRIM_THRESHOLD, kBytes);
}

}  // namespace

int main(int argc, char** argv) {
  keep_memory_for_next_tensor();
  sparsebit::clean_up_on_interrupt();
  // Exceeding the file size limit is then a failed write, which is reported.
  std::signal(SIGXFSZ, SIG_IGN);
  return sparsebit::cli::run(argc, argv, std::cout, std::cerr);
}
