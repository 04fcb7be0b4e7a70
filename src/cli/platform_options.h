#pragma once

#include <string>

namespace sparsebit::cli {

inline constexpr const char* kPlatformHelp =
    "What runs the result: a name of `sparsebit platforms`, or a YAML file that describes it";

/// For CLI11: what is wrong with the name of a platform; empty when it is known or a YAML file.
std::string known_platform(const std::string& name);

}  // namespace sparsebit::cli
