#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sparsebit::frontends::torchscript {

/// libtorch loads no code that calls an operator it does not know, such as torchvision::nms. This
/// makes such operators known to it, as ones that take anything, give a tensor and cannot run.
///
/// @param code  a record of source code.
/// @returns those that are not known, also from earlier calls: "torchvision::nms".
std::vector<std::string> declare_foreign_operators(std::string_view code);

}  // namespace sparsebit::frontends::torchscript
