#include "sparsebit/quant/placement/placement.h"

#include "sparsebit/core/error.h"

namespace sparsebit::quant {

Placement place(fx::GraphModule& module, const QConfig& config) {
  switch (config.backend) {
    case Backend::Virtual:
      return place_virtual(module, config);
    case Backend::OnnxRuntime:
      return place_for_onnxruntime(module, config);
    case Backend::TensorRt:
      return place_for_tensorrt(module, config);
  }
  throw Error(ErrorKind::Internal, "a backend without placement");
}

}  // namespace sparsebit::quant
