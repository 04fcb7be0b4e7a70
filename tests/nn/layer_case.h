#pragma once

#include "sparsebit/nn/module.h"

#include <torch/nn/module.h>

#include <functional>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace sparsebit::nn::test {

using Tensors = std::vector<at::Tensor>;

/// A layer of Sparsebit and libtorch's module of the same type.
struct LayerCase {
  ModulePtr ours;
  std::shared_ptr<torch::nn::Module> theirs;  ///< null when there is only a function
  std::function<Tensors(const Tensors&)> run_theirs;
  Tensors inputs;
  double tolerance = 0.0;  ///< 0 = bit for bit
};

/// Copies the state of libtorch's module to ours (names and shapes must fit), then compares
/// results, gradients of inputs and parameters, and buffers after the call, in train and in eval
/// mode.
void expect_equal_to_libtorch(const std::vector<LayerCase>& cases);

inline void flatten_into(const at::Tensor& tensor, Tensors& out) { out.push_back(tensor); }
template <class... Parts>
void flatten_into(const std::tuple<Parts...>& parts, Tensors& out) {
  std::apply([&](const auto&... part) { (flatten_into(part, out), ...); }, parts);
}

/// @param theirs  a libtorch module holder, called with all `inputs` in order.
template <size_t InputCount = 1, class Holder>
LayerCase compare(ModulePtr ours, Holder theirs, Tensors inputs, double tolerance = 0.0) {
  auto run = [theirs](const Tensors& in) mutable {
    Tensors out;
    [&]<size_t... I>(std::index_sequence<I...>) { flatten_into(theirs->forward(in[I]...), out); }
    (std::make_index_sequence<InputCount>());
    return out;
  };
  return {std::move(ours), theirs.ptr(), std::move(run), std::move(inputs), tolerance};
}

}  // namespace sparsebit::nn::test
