#pragma once

#include <cstdint>
#include <functional>

namespace sparsebit {

/// While it lives, libtorch computes with one thread where it would use several: results of its
/// convolutions depend on how many there are.
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
/// each of which libtorch computes with one thread. `worker` counts them from 0. When calls throw,
/// no further ones are started, and the exception of the lowest index is thrown.
void parallel_for(int64_t count, int workers,
                  const std::function<void(int64_t index, int worker)>& work);

}  // namespace sparsebit
