#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sparsebit::frontends::pt2 {

/// A module whose forward made a node.
struct ModuleCall {
  std::string call;  ///< distinguishes calls of one module: `layer1.relu`, `layer1.relu@1`
  std::string path;  ///< `layer1.relu`
  std::string type;  ///< `torch.nn.modules.activation.ReLU`
};

/// The modules around a node, outermost first, as the file writes them:
/// `L__self__,,models.Net;L__self__conv1,conv1,torch.nn.modules.conv.Conv2d`.
std::vector<ModuleCall> parse_module_stack(std::string_view text);

}  // namespace sparsebit::frontends::pt2
