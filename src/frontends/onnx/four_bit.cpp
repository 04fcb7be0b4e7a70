#include "frontends/onnx/four_bit.h"

#include <set>

namespace sparsebit::frontends {

bool moves_elements(const std::string& type) {
  static const std::set<std::string> types = {"Flatten", "Identity",  "Reshape",
                                              "Squeeze", "Transpose", "Unsqueeze"};
  return types.contains(type);
}

bool takes_four_bits(const std::string& type) {
  static const std::set<std::string> types = {"Cast", "DequantizeLinear", "Shape", "Size"};
  return types.contains(type) || moves_elements(type);
}

}  // namespace sparsebit::frontends
