#include "sparsebit/core/parallel.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace sparsebit {
namespace {

/// The indices of a loop, handed out to workers one by one.
class Work {
 public:
  Work(int64_t count, const std::function<void(int64_t, int)>& work) : count_(count), work_(work) {}

  void run(int worker) {
    const OneThread same_bits;
    while (!failed_) {  // checked before taking an index: lower indices are completed
      const int64_t i = next_++;
      if (i >= count_) return;
      try {
        work_(i, worker);
      } catch (...) {
        note_failure(i);
      }
    }
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void note_failure(int64_t index) {
    const std::lock_guard lock(mutex_);
    if (!error_ || index < failed_at_) {
      error_ = std::current_exception();
      failed_at_ = index;
    }
    failed_ = true;
  }

  int64_t count_;
  const std::function<void(int64_t, int)>& work_;
  std::atomic<int64_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::exception_ptr error_;
  int64_t failed_at_ = 0;
};

}  // namespace

OneThread::OneThread() : threads_(at::get_num_threads()) { at::set_num_threads(1); }
OneThread::~OneThread() { at::set_num_threads(threads_); }

void parallel_for(int64_t count, int workers,
                  const std::function<void(int64_t index, int worker)>& work) {
  const OneThread until_done;  // workers change the thread count of the whole process
  Work shared(count, work);
  std::vector<std::jthread> threads;
  const auto others = std::min<int64_t>(workers, count) - 1;
  for (int worker = 1; worker <= others; ++worker)
    threads.emplace_back([&shared, worker] { shared.run(worker); });
  shared.run(0);
  for (std::jthread& thread : threads) thread.join();
  shared.rethrow();
}

}  // namespace sparsebit
