#include "easy/common_options.h"

namespace sparsebit::easy {

ProgressOptions shown_progress(const CommonOptions& options, bool json) {
  ProgressOptions shown;
  shown.on_advance = options.on_progress;
  if (options.quiet || json) shown.style = ProgressOptions::Style::Quiet;
  return shown;
}

}  // namespace sparsebit::easy
