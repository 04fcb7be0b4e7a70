#pragma once

/// Compiles a function for the listed instruction sets; the loader selects one when the program
/// starts. Not with ThreadSanitizer: it instruments the code that selects, which runs before the
/// sanitizer does and crashes.
#ifdef __SANITIZE_THREAD__
#define SPARSEBIT_CPU_CLONES(...)
#else
#define SPARSEBIT_CPU_CLONES(...) __attribute__((target_clones(__VA_ARGS__)))
#endif

/// Compiles a loop for several instruction sets.
#define SPARSEBIT_FOR_EACH_CPU SPARSEBIT_CPU_CLONES("avx512f", "avx2", "default")
