#include "cli/platform_options.h"

#include "sparsebit/core/near_match.h"
#include "sparsebit/platforms/platform.h"

namespace sparsebit::cli {

std::string known_platform(const std::string& name) {
  const bool is_file = name.ends_with(".yaml") || name.ends_with(".yml");
  if (is_file || platforms::platforms().contains(name)) return "";
  return "unknown platform '" + name + "'" + did_you_mean(name, platforms::platforms().names()) +
         "; `sparsebit platforms` lists them";
}

}  // namespace sparsebit::cli
