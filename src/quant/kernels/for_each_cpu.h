#pragma once

/// Compiles a function for several instruction sets; the first call selects one.
#define SPARSEBIT_FOR_EACH_CPU __attribute__((target_clones("avx512f", "avx2", "default")))
