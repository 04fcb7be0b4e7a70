// LD_PRELOAD library for out-of-memory tests: the allocation number FAIL_ALLOCATION after the start
// of main() fails. Without the variable it only counts. The count is written to the file that
// COUNT_ALLOCATIONS names when the program ends.

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<bool> counting = false;
std::atomic<long> allocations = 0;
long failing = 0;  // 0: none

using Main = int (*)(int, char**, char**);
Main real_main = nullptr;

bool fails() {
  if (!counting) return false;
  if (++allocations != failing) return false;
  errno = ENOMEM;
  return true;
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

void write_count() {
  counting = false;
  const char* const file = std::getenv("COUNT_ALLOCATIONS");
  const int descriptor = file ? open(file, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
  if (descriptor < 0) return;
  char text[32];
  const int size = std::snprintf(text, sizeof text, "%ld\n", allocations.load());
  [[maybe_unused]] const ssize_t written = write(descriptor, text, static_cast<size_t>(size));
  close(descriptor);
}

int counted_main(int argc, char** argv, char** environment) {
  std::atexit(write_count);
  if (const char* number = std::getenv("FAIL_ALLOCATION")) failing = std::atol(number);
  unsetenv("LD_PRELOAD");  // not for ONNX Runtime's process
  counting = true;
  return real_main(argc, argv, environment);
}

}  // namespace

extern "C" {

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) { return fails() ? nullptr : __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return fails() ? nullptr : __libc_calloc(count, size); }
void* realloc(void* memory, size_t size) {
  return fails() ? nullptr : __libc_realloc(memory, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  return fails() ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, size_t alignment, size_t size) {
  if (fails()) return ENOMEM;
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}

int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(),
                      void (*rtld_fini)(), void* stack_end) {
  real_main = main;
  using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  return next<Start>("__libc_start_main")(counted_main, argc, argv, init, fini, rtld_fini,
                                          stack_end);
}

}  // extern "C"
