#pragma once

#include <set>
#include <string>
#include <string_view>

namespace sparsebit::frontends::torchscript {

/// The names that code calls with a prefix: for "torch.", the code `torch.add(x, y)` gives `add`;
/// for "ops.", the code `ops.torchvision.nms(x)` gives `torchvision.nms`.
std::set<std::string> called_names(std::string_view code, std::string_view prefix);

}  // namespace sparsebit::frontends::torchscript
