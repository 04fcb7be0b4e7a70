#include "sparsebit/deploy/tensor_range.h"

#include <ATen/ATen.h>

namespace sparsebit::deploy {

std::string to_string(TensorKind kind) {
  switch (kind) {
    case TensorKind::Activation:
      return "activation";
    case TensorKind::Weight:
      return "weight";
    case TensorKind::Bias:
      return "bias";
  }
  return "?";
}

bool TensorRange::is_symmetric() const {
  return qmin < 0 && at::equal(zero_point, at::zeros_like(zero_point));
}

at::Tensor TensorRange::low() const {
  return (static_cast<double>(qmin) - zero_point.to(at::kDouble)) * scale.to(at::kDouble);
}

at::Tensor TensorRange::high() const {
  return (static_cast<double>(qmax) - zero_point.to(at::kDouble)) * scale.to(at::kDouble);
}

at::Tensor TensorRange::largest() const { return at::maximum(-low(), high()); }

bool TensorRange::same_numbers(const TensorRange& other) const {
  return tensor == other.tensor && qmin == other.qmin && qmax == other.qmax &&
         scale.sizes() == other.scale.sizes() && at::equal(scale, other.scale) &&
         at::equal(zero_point, other.zero_point);
}

}  // namespace sparsebit::deploy
