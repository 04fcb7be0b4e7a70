#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sparsebit::frontends::torchscript {

/// libtorch loads no code that calls an unknown operator, such as scaled_dot_product_attention of
/// torch 2. This declares the operators that the code calls: with the schema of torch 2 where it is
/// known, otherwise with any arguments and a tensor as result. When TorchScript code that calls
/// such an operator runs (in a skipped module), the call is run as converted by write_call().
///
/// @param code  a record of source code.
/// @returns operators in the code whose schema is unknown, also those of earlier calls:
/// "aten::new_thing".
std::vector<std::string> declare_newer_operators(std::string_view code);

}  // namespace sparsebit::frontends::torchscript
