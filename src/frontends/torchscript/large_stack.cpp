#include "frontends/torchscript/large_stack.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/memory_limit.h"

#include <ATen/ThreadLocalState.h>

#include <pthread.h>

#include <csignal>
#include <exception>
#include <vector>

namespace sparsebit::frontends::torchscript {
namespace {

struct Task {
  const std::function<void()>& run;
  at::ThreadLocalState modes;
  std::exception_ptr error;
};

/// Lets a handler of crashes (SA_ONSTACK) run when this thread's stack is full. The kernel has one
/// such stack per thread; one that is there already, a sanitizer's, stays.
class StackForSignals {
 public:
  StackForSignals() : memory_(kBytes) {
    const stack_t stack{.ss_sp = memory_.data(), .ss_flags = 0, .ss_size = kBytes};
    stack_t before{};
    is_ours_ = sigaltstack(nullptr, &before) == 0 && (before.ss_flags & SS_DISABLE) != 0 &&
               sigaltstack(&stack, nullptr) == 0;
  }
  ~StackForSignals() {
    const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    if (is_ours_) sigaltstack(&none, nullptr);
  }
  StackForSignals(const StackForSignals&) = delete;
  StackForSignals& operator=(const StackForSignals&) = delete;

 private:
  static constexpr size_t kBytes = 64 << 10;
  std::vector<char> memory_;
  bool is_ours_ = false;
};

void* run_task(void* argument) {
  Task& task = *static_cast<Task*>(argument);
  try {
    const StackForSignals signals;
    const at::ThreadLocalStateGuard guard(task.modes);
    task.run();
  } catch (...) {
    task.error = std::current_exception();
  }
  return nullptr;
}

}  // namespace

void run_on_large_stack(size_t bytes, const std::function<void()>& run) {
  Task task{run, at::ThreadLocalState(), nullptr};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_t thread;
  const bool started = pthread_attr_setstacksize(&attributes, bytes) == 0 &&
                       pthread_create(&thread, &attributes, run_task, &task) == 0;
  pthread_attr_destroy(&attributes);
  SPARSEBIT_CHECK(started, Unsupported, "the system cannot provide a stack of ",
                  bytes_text(static_cast<double>(bytes)),
                  ", which reading the model's code may "
                  "need");
  pthread_join(thread, nullptr);
  if (task.error) std::rethrow_exception(task.error);
}

}  // namespace sparsebit::frontends::torchscript
