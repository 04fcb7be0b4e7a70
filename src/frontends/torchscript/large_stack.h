#pragma once

#include <cstddef>
#include <functional>

namespace sparsebit::frontends::torchscript {

/// Enough for importing a model whose code is already compiled.
inline constexpr size_t kLargeStack = size_t{64} << 20;

/// Runs `run` on a separate thread with a stack of this size, and waits for it; its exceptions are
/// rethrown. The thread has the caller's modes of libtorch (gradients and the like). Memory is
/// allocated only as the stack grows. Throws Unsupported when the system cannot provide the stack.
void run_on_large_stack(size_t bytes, const std::function<void()>& run);

}  // namespace sparsebit::frontends::torchscript
