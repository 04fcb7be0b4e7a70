#include "sparsebit/cli/cli.h"
#include "sparsebit/core/interrupt.h"

#include <iostream>

int main(int argc, char** argv) {
  sparsebit::clean_up_on_interrupt();
  return sparsebit::cli::run(argc, argv, std::cout, std::cerr);
}
