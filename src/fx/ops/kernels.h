#pragma once

#include "sparsebit/core/error.h"
#include "sparsebit/fx/ops/operator.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sparsebit::fx {

/// Kernel of an operator `input, inplace=False` from ATen's two functions for it.
template <class Pure, class Inplace>
Kernel unary(Pure pure, Inplace inplace) {
  return [=](const Args& a) -> Value {
    at::Tensor x = a.tensor("input");
    return a.flag("inplace") ? inplace(x) : pure(x);
  };
}

/// The tuple that torch's functions with several results return: `torch.split`, `torch.topk`.
inline Value tuple_of(const std::vector<at::Tensor>& tensors) {
  return Tuple(std::vector<Value>(tensors.begin(), tensors.end()));
}
inline Value tuple_of(const std::tuple<at::Tensor, at::Tensor>& pair) {
  return Tuple{std::get<0>(pair), std::get<1>(pair)};
}

/// The index of an option's value in `names`: ATen takes `mode` and others as a number.
inline int64_t number_of(const Args& a, const char* option,
                         std::initializer_list<std::string_view> names) {
  const std::string given = a.text(option);
  const auto* const it = std::find(names.begin(), names.end(), given);
  SPARSEBIT_CHECK(it != names.end(), InvalidArgument, option, " must be one of ",
                  c10::Join(", ", names), "; got '", given, "'");
  return it - names.begin();
}

}  // namespace sparsebit::fx
