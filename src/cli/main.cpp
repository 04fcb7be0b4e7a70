#include "sparsebit/cli/cli.h"
#include "sparsebit/core/interrupt.h"
#include "sparsebit/core/memory_limit.h"

#include <csignal>
#include <iostream>

int main(int argc, char** argv) {
  sparsebit::clean_up_on_interrupt();
  sparsebit::fail_beyond_available_memory();
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is a failed write, which is an error
  return sparsebit::cli::run(argc, argv, std::cout, std::cerr);
}
