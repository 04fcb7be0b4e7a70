#pragma once

#include <string>

namespace sparsebit::cli {

inline constexpr const char* kPlatformHelp =
    "Target platform: a name from `sparsebit platforms`, or a YAML file";

/// A check of --platform for CLI11: empty if the name is known or a YAML file, otherwise the error.
std::string known_platform(const std::string& name);

}  // namespace sparsebit::cli
