#pragma once

#include <cstdint>
#include <functional>

namespace sparsebit {

/// Limits libtorch to one thread while it is alive, because results of its convolutions depend on
/// the number of threads.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int threads_;
};

/// Calls work(index, worker) for every index below `count`, in up to `workers` threads at once, in
/// each of which libtorch computes with one thread. `worker` is the index of the thread, from 0.
/// When calls throw, no further calls are started, and the exception of the lowest index is
/// rethrown.
void parallel_for(int64_t count, int workers,
                  const std::function<void(int64_t index, int worker)>& work);

}  // namespace sparsebit
