#include "quant/lowering/lowering.h"

#include "quant/lowering/split_silu.h"

namespace sparsebit::quant {

Registry<std::function<void(fx::GraphModule&)>>& lowerings() {
  static Registry<std::function<void(fx::GraphModule&)>> registry = [] {
    Registry<std::function<void(fx::GraphModule&)>> r("lowering");
    r.add("split_silu", split_silu);
    return r;
  }();
  return registry;
}

}  // namespace sparsebit::quant
