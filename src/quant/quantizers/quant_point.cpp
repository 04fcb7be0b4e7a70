#include "sparsebit/quant/quantizers/quant_point.h"

namespace sparsebit::quant {

std::string QuantPoint::place() const {
  return "at '" + name + "', the quantizer of '" + value + "'";
}

}  // namespace sparsebit::quant
