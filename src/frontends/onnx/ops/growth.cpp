#include "frontends/onnx/ops/growth.h"

namespace sparsebit::frontends {

fx::Value function_of_size(Conversion& c, std::string_view target, std::vector<fx::Value> args,
                           fx::Kwargs kwargs, const std::vector<int64_t>& sizes) {
  constexpr int64_t kMost = int64_t{1} << 20;
  int64_t elements = 1;
  for (const int64_t size : sizes) {
    if (size < 0 || size > kMost || (elements *= size) > kMost) elements = kMost + 1;
    if (elements > kMost) break;
  }
  return elements > kMost ? c.node(target, std::move(args), std::move(kwargs))
                          : c.function(target, std::move(args), std::move(kwargs));
}

}  // namespace sparsebit::frontends
