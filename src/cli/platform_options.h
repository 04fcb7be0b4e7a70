#pragma once

namespace sparsebit::cli {

inline constexpr const char* kPlatformHelp =
    "What runs the result: a name of `sparsebit platforms`, or a YAML file that describes it";

}  // namespace sparsebit::cli
