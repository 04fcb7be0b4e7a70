#pragma once

#include <cstddef>
#include <functional>

namespace sparsebit::frontends::torchscript {

/// Enough for reading a model of which the compiled code is at hand.
inline constexpr size_t kLargeStack = size_t{64} << 20;

/// Runs `run` with so much stack, on a thread of its own, and waits for it; what it throws is
/// thrown here. The thread has the caller's modes of libtorch (gradients and the like). Memory is
/// taken only as the stack grows. Throws Unsupported when the system has no such stack.
void run_on_large_stack(size_t bytes, const std::function<void()>& run);

}  // namespace sparsebit::frontends::torchscript
