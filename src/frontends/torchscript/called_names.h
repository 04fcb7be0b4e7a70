#pragma once

#include <set>
#include <string>
#include <string_view>

namespace sparsebit::frontends::torchscript {

/// The names that code calls behind a prefix: for "torch." it is `add` where the code has
/// `torch.add(x, y)`, for "ops." it is `torchvision.nms` where it has `ops.torchvision.nms(x)`.
std::set<std::string> called_names(std::string_view code, std::string_view prefix);

}  // namespace sparsebit::frontends::torchscript
