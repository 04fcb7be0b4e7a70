#pragma once

#include "sparsebit/fx/ops/operator.h"

namespace sparsebit::fx {

/// While it is alive, kernels that run in this thread may read and write this many elements and
/// compute this many MACs in all; the kernel that would exceed it throws TooLarge instead. For work
/// that only prepares, such as recording shapes or folding the constants of a file.
class WorkLimit {
 public:
  explicit WorkLimit(double operations);
  ~WorkLimit();
  WorkLimit(const WorkLimit&) = delete;
  WorkLimit& operator=(const WorkLimit&) = delete;

 private:
  friend void check_work(const Operator& op, const Args& args);

  double limit_;
  double done_ = 0;
  WorkLimit* outer_;
};

/// For run_kernel(): counts a call's work against the limit of this thread, if there is one.
void check_work(const Operator& op, const Args& args);

/// For run_kernel(): throws TooLarge for a tensor with more elements than the memory limit has room
/// for, although it may take none itself: expand gives 2^42 elements out of one, and whatever reads
/// them takes hours.
void check_result_size(const Value& result);

/// An upper bound of the MACs of a call, from the shapes of its arguments; 0 for operators that do
/// not sum products.
double most_macs(const Operator& op, const Args& args);

}  // namespace sparsebit::fx
