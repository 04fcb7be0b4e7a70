#include "cli/platform_options.h"

#include "sparsebit/platforms/platform.h"

namespace sparsebit::cli {

std::string known_platform(const std::string& name) {
  const bool is_file = name.ends_with(".yaml") || name.ends_with(".yml");
  if (is_file || platforms::platforms().contains(name)) return "";
  const std::string near = platforms::platforms().did_you_mean(name);
  return "unknown platform '" + name + "'" +
         (near.empty() ? "; `sparsebit platforms` lists them" : near);
}

}  // namespace sparsebit::cli
