#include "sparsebit/cli/cli.h"

#include <iostream>

int main(int argc, char** argv) { return sparsebit::cli::run(argc, argv, std::cout, std::cerr); }
