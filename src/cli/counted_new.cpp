// Replaces operator new of the program: what parsers and containers allocate counts against the
// memory limit as tensors do. Only the program does this; a library leaves it to its users.

#include "sparsebit/core/memory_limit.h"

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

constexpr std::size_t kNaturalAlignment = alignof(std::max_align_t);

void* allocate(std::size_t size, std::size_t alignment = kNaturalAlignment) noexcept {
  // Not even asked for where it cannot fit: the system may kill the process rather than refuse.
  size = std::max<std::size_t>(size, 1);
  if (size > PTRDIFF_MAX || !sparsebit::detail::take_memory(size)) return nullptr;
  void* const memory =
      alignment <= kNaturalAlignment
          ? std::malloc(size)
          : std::aligned_alloc(alignment, (size + alignment - 1) & ~(alignment - 1));
  sparsebit::detail::return_memory(size);
  if (memory) sparsebit::detail::count_memory(malloc_usable_size(memory));
  return memory;
}

void release(void* memory) noexcept {
  if (memory) sparsebit::detail::return_memory(malloc_usable_size(memory));
  std::free(memory);
}

void* allocate_or_throw(std::size_t size, std::size_t alignment = kNaturalAlignment) {
  while (true) {
    if (void* const memory = allocate(size, alignment)) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (!handler) throw std::bad_alloc();
    handler();
  }
}

std::size_t number(std::align_val_t alignment) { return static_cast<std::size_t>(alignment); }

}  // namespace

// NOLINTBEGIN(misc-new-delete-overloads)
void* operator new(std::size_t size) { return allocate_or_throw(size); }
void* operator new[](std::size_t size) { return allocate_or_throw(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, number(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, number(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(size, number(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(size, number(alignment));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  release(memory);
}
// NOLINTEND(misc-new-delete-overloads)
