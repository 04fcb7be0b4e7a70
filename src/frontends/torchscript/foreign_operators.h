#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sparsebit::frontends::torchscript {

/// libtorch loads no code that calls an unknown operator, such as torchvision::nms. This registers
/// such operators with libtorch: with any arguments, a tensor as result, and no implementation.
///
/// @param code  a record of source code.
/// @returns the unknown operators in the code, also those of earlier calls: "torchvision::nms".
std::vector<std::string> declare_foreign_operators(std::string_view code);

}  // namespace sparsebit::frontends::torchscript
