// LD_PRELOAD library for tests of output files: the process is killed (SIGKILL) before its call
// number KILL_AT of rename(), link() or unlink(). Without the variable nothing changes.

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace {

void count_call() {
  static std::atomic<long> calls = 0;
  const char* const number = std::getenv("KILL_AT");
  if (number && ++calls == std::atol(number)) std::raise(SIGKILL);
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int rename(const char* from, const char* to) noexcept {
  count_call();
  return next<int(const char*, const char*)>("rename")(from, to);
}

int link(const char* from, const char* to) noexcept {
  count_call();
  return next<int(const char*, const char*)>("link")(from, to);
}

int unlink(const char* path) noexcept {
  count_call();
  return next<int(const char*)>("unlink")(path);
}

}  // extern "C"
