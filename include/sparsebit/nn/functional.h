#pragma once

#include "sparsebit/fx/call.h"
#include "sparsebit/nn/module.h"

namespace sparsebit::nn {

// Functions for forward(): with tensors they compute, with traced values they record a node. These
// are the most common ones; every other operator of the table is available by name:
// fx::call_function("torch.roll", {x, 1, -1}) or fx::call_method("repeat", {x, 1, 2}).

using fx::call_function;
using fx::call_method;
using fx::floordiv;
using fx::getitem;
using fx::matmul;
using fx::shape;
using fx::size;

// torch.nn.functional
Value relu(const Value& x);
Value gelu(const Value& x, Kwargs options = {});
Value silu(const Value& x);
Value softmax(const Value& x, int64_t dim);
Value dropout(const Value& x, double p, bool training);
Value interpolate(const Value& x, Kwargs options);
Value pad(const Value& x, std::vector<int64_t> padding, Kwargs options = {});
Value adaptive_avg_pool2d(const Value& x, const Value& output_size);
Value max_pool2d(const Value& x, const Value& kernel_size, Kwargs options = {});
Value linear(const Value& x, const Value& weight, const Value& bias = {});
Value layer_norm(const Value& x, const Value& normalized_shape, Kwargs options = {});

// torch
Value cat(std::vector<Value> tensors, int64_t dim = 0);
Value stack(std::vector<Value> tensors, int64_t dim = 0);
Value flatten(const Value& x, int64_t start_dim = 0, int64_t end_dim = -1);
Value arange(const Value& end);
Value where(const Value& condition, const Value& x, const Value& y);

// Tensor methods; sizes may be traced values: view(x, {size(x, 0), -1}).
Value view(const Value& x, std::vector<Value> sizes);
Value reshape(const Value& x, std::vector<Value> sizes);
Value permute(const Value& x, std::vector<int64_t> dims);
Value transpose(const Value& x, int64_t dim0, int64_t dim1);
Value contiguous(const Value& x);
Value expand(const Value& x, std::vector<Value> sizes);
Value unsqueeze(const Value& x, int64_t dim);
Value squeeze(const Value& x, int64_t dim);
Value split(const Value& x, const Value& sizes, int64_t dim = 0);
Value chunk(const Value& x, int64_t chunks, int64_t dim = 0);
Value unbind(const Value& x, int64_t dim = 0);
Value mean(const Value& x, std::vector<int64_t> dims, bool keepdim = false);
Value masked_fill(const Value& x, const Value& mask, const Value& value);

}  // namespace sparsebit::nn
