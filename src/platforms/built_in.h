#pragma once

#include <span>
#include <string_view>

namespace sparsebit::platforms {

/// One of the YAML files of this folder, which are compiled into the library.
struct BuiltIn {
  std::string_view name;
  std::string_view text;
};

/// All built-in platforms.
std::span<const BuiltIn> built_in_platforms();

/// The YAML text of a built-in platform; empty if no platform has this name.
std::string_view built_in_text(std::string_view name);

}  // namespace sparsebit::platforms
