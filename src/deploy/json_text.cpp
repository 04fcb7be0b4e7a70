#include "deploy/json_text.h"

#include <ATen/ATen.h>

namespace sparsebit::deploy {

std::vector<double> numbers_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kDouble).contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

Json number_or_list(const at::Tensor& tensor) {
  if (tensor.dim() == 0) return tensor.item<double>();
  return numbers_of(tensor);
}

std::vector<double> list_of(const View& value) {
  if (value.is_list()) return value.numbers();
  return {value.number()};
}

std::string pretty(const Json& json) { return json.dump(2) + "\n"; }

}  // namespace sparsebit::deploy
