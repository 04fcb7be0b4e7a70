#pragma once

#include "sparsebit/fx/ops/operator.h"

#include <string>

namespace sparsebit::fx {

/// While it is alive, kernels that run in this thread may read and write this many elements and
/// compute this many MACs in all; the kernel that would exceed it throws TooLarge instead. For work
/// that only prepares, such as recording shapes or folding the constants of a file. Work under an
/// inner limit counts for the outer one as well, when the inner one ends.
class WorkLimit {
 public:
  /// @param raised_by  what sets another limit, for the message; may be empty.
  explicit WorkLimit(double operations, std::string raised_by = {});
  ~WorkLimit();
  WorkLimit(const WorkLimit&) = delete;
  WorkLimit& operator=(const WorkLimit&) = delete;

 private:
  friend void check_work(const Operator& op, const Args& args);

  double limit_;
  std::string raised_by_;
  double done_ = 0;
  WorkLimit* outer_;
};

/// For run_kernel(): counts a call's work against the limit of this thread, if there is one.
void check_work(const Operator& op, const Args& args);

/// An upper bound of the MACs of a call, from the shapes of its arguments; 0 for operators that do
/// not sum products.
double most_macs(const Operator& op, const Args& args);

}  // namespace sparsebit::fx
