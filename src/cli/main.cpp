#include "sparsebit/cli/cli.h"
#include "sparsebit/core/interrupt.h"

#include <malloc.h>

#include <csignal>
#include <iostream>

namespace {

/// Tensors of a layer are as large as those of the layer before. By default glibc gives large
/// blocks back to the system and asks for new, empty pages each time, which takes as long as some
/// layers.
void keep_memory_for_next_tensor() {
  constexpr int kBytes = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kBytes);
  mallopt(M_TRIM_THRESHOLD, kBytes);
}

}  // namespace

int main(int argc, char** argv) {
  keep_memory_for_next_tensor();
  sparsebit::clean_up_on_interrupt();
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is a failed write, which is an error
  return sparsebit::cli::run(argc, argv, std::cout, std::cerr);
}
