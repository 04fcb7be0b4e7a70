#pragma once

#include <cstdint>

namespace sparsebit {

/// Bytes that this process can have at most: the machine's memory and swap space, or the limit of
/// its container.
uint64_t available_memory();

/// From now on an allocation beyond that fails, which is an error like others; the system would
/// grant it and kill some process later. For main() of a program: a library leaves limits alone.
void fail_beyond_available_memory();

}  // namespace sparsebit
