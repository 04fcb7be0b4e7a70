#include "cli/common_options.h"

#include "cli/shape_text.h"

#include "sparsebit/core/log.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <optional>

namespace sparsebit::cli {
namespace {

/// A check for options of type uint64_t: CLI11 lets "-1" and larger numbers wrap around.
std::string whole_number(const std::string& text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const bool good = error == std::errc() && stop == end;
  return good ? "" : "'" + text + "' is not a whole number of at most 64 bits";
}

}  // namespace

std::function<std::string(const std::string&)> whole_number_from(int64_t least, int64_t most) {
  return [=](const std::string& text) -> std::string {
    const std::optional<int64_t> value = parse_number(text);
    const bool good = value && *value >= least && *value <= most;
    return good ? "" : fmt::format("'{}' is not a whole number from {} to {}", text, least, most);
  };
}

std::string not_empty(const std::string& text) { return text.empty() ? "the name is empty" : ""; }

void add_common_options(CLI::App& command, CommonOptions& options) {
  command.add_option("--threads", options.threads, "Number of threads. Default: 0 (all cores)")
      ->check(whole_number_from(0, 1024));
  command
      .add_option("--seed", options.seed,
                  "Random seed of samples, inputs and zoo weights. Default: 0")
      ->check(whole_number);
  command.add_flag("-q,--quiet", options.quiet, "Print results only, no warnings or progress");
}

void add_skip_option(CLI::App& command, std::vector<std::string>& patterns) {
  command
      .add_option("--skip", patterns,
                  "Keep modules whose path matches this pattern as a single node (repeatable)")
      ->allow_extra_args(false);
}

ProgressOptions shown_progress(const CommonOptions& options, bool json) {
  ProgressOptions shown;
  if (options.quiet || json) shown.style = ProgressOptions::Style::Quiet;
  return shown;
}

void apply(const CommonOptions& options) {
  if (options.threads > 0) at::set_num_threads(options.threads);
  set_log_level(options.quiet ? LogLevel::Error : LogLevel::Warning);
}

}  // namespace sparsebit::cli
