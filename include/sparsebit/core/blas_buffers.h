#pragma once

namespace sparsebit {

/// OpenBLAS takes a buffer of 128 MB of address space for each thread that multiplies matrices, and
/// where the system refuses one (`ulimit -v`) it tries again forever. This takes the buffers for
/// `threads` threads now, if there is a limit on address space, and throws TooLarge where they do
/// not fit. Does nothing with another BLAS.
void reserve_blas_buffers(int threads);

}  // namespace sparsebit
