#include "sparsebit/nn/functional.h"

namespace sparsebit::nn {
namespace {

/// The receiver first, then the varargs of a method such as view(2, -1).
std::vector<Value> with_receiver(const Value& x, std::vector<Value> rest) {
  rest.insert(rest.begin(), x);
  return rest;
}

}  // namespace

Value relu(const Value& x) { return call_function("torch.nn.functional.relu", {x}); }
Value gelu(const Value& x, Kwargs options) {
  return call_function("torch.nn.functional.gelu", {x}, std::move(options));
}
Value silu(const Value& x) { return call_function("torch.nn.functional.silu", {x}); }
Value softmax(const Value& x, int64_t dim) {
  return call_function("torch.nn.functional.softmax", {x}, {{"dim", dim}});
}
Value dropout(const Value& x, double p, bool training) {
  return call_function("torch.nn.functional.dropout", {x}, {{"p", p}, {"training", training}});
}
Value interpolate(const Value& x, Kwargs options) {
  return call_function("torch.nn.functional.interpolate", {x}, std::move(options));
}
Value pad(const Value& x, std::vector<int64_t> padding, Kwargs options) {
  return call_function("torch.nn.functional.pad", {x, padding}, std::move(options));
}
Value adaptive_avg_pool2d(const Value& x, const Value& output_size) {
  return call_function("torch.nn.functional.adaptive_avg_pool2d", {x, output_size});
}
Value max_pool2d(const Value& x, const Value& kernel_size, Kwargs options) {
  return call_function("torch.nn.functional.max_pool2d", {x, kernel_size}, std::move(options));
}
Value linear(const Value& x, const Value& weight, const Value& bias) {
  return call_function("torch.nn.functional.linear", {x, weight, bias});
}
Value layer_norm(const Value& x, const Value& normalized_shape, Kwargs options) {
  return call_function("torch.nn.functional.layer_norm", {x, normalized_shape}, std::move(options));
}

Value cat(std::vector<Value> tensors, int64_t dim) {
  return call_function("torch.cat", {List(std::move(tensors))}, {{"dim", dim}});
}
Value stack(std::vector<Value> tensors, int64_t dim) {
  return call_function("torch.stack", {List(std::move(tensors))}, {{"dim", dim}});
}
Value flatten(const Value& x, int64_t start_dim, int64_t end_dim) {
  return call_function("torch.flatten", {x, start_dim, end_dim});
}
Value arange(const Value& end) { return call_function("torch.arange", {end}); }
Value where(const Value& condition, const Value& x, const Value& y) {
  return call_function("torch.where", {condition, x, y});
}

Value view(const Value& x, std::vector<Value> sizes) {
  return call_method("view", with_receiver(x, std::move(sizes)));
}
Value reshape(const Value& x, std::vector<Value> sizes) {
  return call_method("reshape", with_receiver(x, std::move(sizes)));
}
Value permute(const Value& x, std::vector<int64_t> dims) {
  return call_method("permute", with_receiver(x, {dims.begin(), dims.end()}));
}
Value transpose(const Value& x, int64_t dim0, int64_t dim1) {
  return call_method("transpose", {x, dim0, dim1});
}
Value contiguous(const Value& x) { return call_method("contiguous", {x}); }
Value expand(const Value& x, std::vector<Value> sizes) {
  return call_method("expand", with_receiver(x, std::move(sizes)));
}
Value unsqueeze(const Value& x, int64_t dim) { return call_method("unsqueeze", {x, dim}); }
Value squeeze(const Value& x, int64_t dim) { return call_method("squeeze", {x, dim}); }
Value split(const Value& x, const Value& sizes, int64_t dim) {
  return call_method("split", {x, sizes}, {{"dim", dim}});
}
Value chunk(const Value& x, int64_t chunks, int64_t dim) {
  return call_method("chunk", {x, chunks}, {{"dim", dim}});
}
Value unbind(const Value& x, int64_t dim) { return call_method("unbind", {x, dim}); }
Value mean(const Value& x, std::vector<int64_t> dims, bool keepdim) {
  return call_method("mean", {x, dims}, {{"keepdim", keepdim}});
}
Value masked_fill(const Value& x, const Value& mask, const Value& value) {
  return call_method("masked_fill", {x, mask, value});
}

}  // namespace sparsebit::nn
