#include "cli/common_options.h"

#include "cli/option_values.h"
#include "easy/shape_text.h"
#include "easy/usage_error.h"

#include "sparsebit/core/blas_buffers.h"
#include "sparsebit/core/log.h"
#include "sparsebit/core/memory_limit.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdlib>
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

std::string size_of_memory(const std::string& text) {
  return parse_bytes(text).value_or(0) > 0
             ? ""
             : "'" + text + "' is not a size of memory, such as 8GB or 500MB";
}

/// The option's value, else SPARSEBIT_MAX_MEMORY, else the available memory.
int64_t memory_for(const CommonOptions& options) {
  if (!options.max_memory.empty()) return *parse_bytes(options.max_memory);
  const char* const told = std::getenv("SPARSEBIT_MAX_MEMORY");
  if (!told || *told == '\0') return available_memory();
  const std::string problem = size_of_memory(told);
  if (!problem.empty()) throw UsageError("SPARSEBIT_MAX_MEMORY: " + problem);
  return *parse_bytes(told);
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
  command.add_option("--threads", options.threads, "Threads for computation (0 = all cores)")
      ->check(whole_number_from(0, 1024))
      ->capture_default_str();
  command.add_option("--seed", options.seed, "Random seed")
      ->check(whole_number)
      ->capture_default_str();
  command
      .add_option(
          "--max-memory", options.max_memory,
          "Memory limit, such as 8GB. Default: SPARSEBIT_MAX_MEMORY, or 80 % of available memory")
      ->type_name("SIZE")
      ->check(size_of_memory);
  command.add_flag("-q,--quiet", options.quiet, "Print results only, no warnings or progress");
}

void add_skip_option(CLI::App& command, std::vector<std::string>& patterns) {
  command
      .add_option("--skip", patterns,
                  "Keep modules whose path matches this pattern as a single node (repeatable)")
      ->type_name("PATTERN")
      ->allow_extra_args(false);
}

void apply(const CommonOptions& options) {
  if (options.threads > 0) at::set_num_threads(options.threads);
  reserve_blas_buffers(at::get_num_threads());
  limit_memory(memory_for(options));
  set_log_level(options.quiet ? LogLevel::Error : LogLevel::Warning);
}

}  // namespace sparsebit::cli
