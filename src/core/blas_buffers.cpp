#include "sparsebit/core/blas_buffers.h"

#include "sparsebit/core/error.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace sparsebit {
namespace {

constexpr size_t kBufferBytes = size_t{136} << 20;  // what Debian's OpenBLAS takes, rounded up

using Allocate = void* (*)(int);
using Free = void (*)(void*);

bool is_address_space_limited() {
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    struct rlimit limit {};
    if (getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) return true;
  }
  return false;
}

bool has_room_for(size_t bytes) {
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  munmap(memory, bytes);
  return true;
}

}  // namespace

void reserve_blas_buffers(int threads) {
  static int reserved = 0;  // OpenBLAS keeps its buffers
  if (threads <= reserved || !is_address_space_limited()) return;
  const auto allocate = reinterpret_cast<Allocate>(dlsym(RTLD_DEFAULT, "blas_memory_alloc"));
  const auto release = reinterpret_cast<Free>(dlsym(RTLD_DEFAULT, "blas_memory_free"));
  if (!allocate || !release) return;
  const size_t bytes = kBufferBytes * static_cast<size_t>(threads);
  SPARSEBIT_CHECK(has_room_for(bytes), TooLarge, threads, " threads need ", bytes / 1000000,
                  " MB of address space, more than the limit (ulimit -v) leaves; use fewer "
                  "--threads or a higher limit");
  std::vector<void*> buffers;
  buffers.reserve(static_cast<size_t>(threads));
  for (int i = 0; i < threads; ++i) buffers.push_back(allocate(0));
  std::for_each(buffers.begin(), buffers.end(), release);
  reserved = threads;
}

}  // namespace sparsebit
