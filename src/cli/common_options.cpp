#include "cli/common_options.h"

#include "sparsebit/core/log.h"

#include <ATen/Parallel.h>

namespace sparsebit::cli {

void add_common_options(CLI::App& command, CommonOptions& options) {
  command.add_option("--threads", options.threads, "Threads for computation (0 = all cores)")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command.add_option("--seed", options.seed, "Seed of everything random")->capture_default_str();
  command.add_flag("-q,--quiet", options.quiet, "Print results only, no warnings or progress");
}

void apply(const CommonOptions& options) {
  if (options.threads > 0) at::set_num_threads(options.threads);
  set_log_level(options.quiet ? LogLevel::Error : LogLevel::Warning);
}

}  // namespace sparsebit::cli
