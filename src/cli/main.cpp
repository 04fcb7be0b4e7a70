#include "sparsebit/cli/cli.h"
#include "sparsebit/core/interrupt.h"

#include <csignal>
#include <iostream>

int main(int argc, char** argv) {
  sparsebit::clean_up_on_interrupt();
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is a failed write, which is an error
  return sparsebit::cli::run(argc, argv, std::cout, std::cerr);
}
