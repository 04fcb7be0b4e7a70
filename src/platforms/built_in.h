#pragma once

#include <span>
#include <string_view>

namespace sparsebit::platforms {

/// One of the YAML files beside this header, which are compiled into the library.
struct BuiltIn {
  std::string_view name;
  std::string_view text;
};

/// All of them.
std::span<const BuiltIn> built_in_platforms();

/// The text of a built-in platform; empty when there is none of that name.
std::string_view built_in_text(std::string_view name);

}  // namespace sparsebit::platforms
