#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sparsebit::frontends::torchscript {

/// libtorch loads no code that calls an operator it does not know, such as
/// scaled_dot_product_attention of torch 2. This declares those that the code calls: with the
/// schema of torch 2 where it is known here, otherwise as one that takes anything and gives a
/// tensor. When TorchScript code that calls one runs (in a module that was skipped), it is computed
/// by the operator that write_call() makes of it.
///
/// @param code  a record of source code.
/// @returns those whose schema is not known, also from earlier calls: "aten::new_thing".
std::vector<std::string> declare_newer_operators(std::string_view code);

}  // namespace sparsebit::frontends::torchscript
