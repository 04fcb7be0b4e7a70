#pragma once

#include "sparsebit/core/progress.h"

#include <cstdint>
#include <functional>
#include <string>

namespace sparsebit::easy {

/// Options of all slow work.
struct CommonOptions {
  int threads = 0;  ///< 0 = libtorch's default
  uint64_t seed = 0;
  bool quiet = false;
  std::string max_memory = {};  ///< "8GB"; empty: SPARSEBIT_MAX_MEMORY, or what the machine has
  /// See ProgressOptions.
  std::function<void(const std::string& label, int64_t done, int64_t total)> on_progress = {};
};

/// Progress options: no progress bar with `quiet` or for JSON.
ProgressOptions shown_progress(const CommonOptions& options, bool json);

}  // namespace sparsebit::easy
