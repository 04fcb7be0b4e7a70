#pragma once

/// Compiles a function for several processors; the first call chooses.
#define SPARSEBIT_FOR_EACH_CPU __attribute__((target_clones("avx512f", "avx2", "default")))
