#include "frontends/torchscript/large_stack.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/memory_limit.h"

#include <ATen/ThreadLocalState.h>

#include <pthread.h>

#include <exception>

namespace sparsebit::frontends::torchscript {
namespace {

struct Task {
  const std::function<void()>& run;
  at::ThreadLocalState modes;
  std::exception_ptr error;
};

void* run_task(void* argument) {
  Task& task = *static_cast<Task*>(argument);
  try {
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
                  bytes_text(static_cast<double>(bytes)), ", which reading the model's code may "
                  "need");
  pthread_join(thread, nullptr);
  if (task.error) std::rethrow_exception(task.error);
}

}  // namespace sparsebit::frontends::torchscript
