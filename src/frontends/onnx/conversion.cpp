#include "frontends/onnx/conversion.h"

#include "frontends/onnx/graph_builder.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/call.h"

#include <ATen/ATen.h>

namespace sparsebit::frontends {

using fx::List;
using fx::Opcode;
using fx::Value;

namespace {

/// Calls on constants are folded for any operator when the constants have up to this many elements:
/// shapes, masks and scales.
constexpr int64_t kSmallConstant = 1024;
/// Largest product of the element counts of several constants, which bounds the result's size.
constexpr int64_t kLargestProduct = 1 << 20;

/// Whether an index picks each element at most once: a tensor index can repeat elements.
bool picks_once(const Value& index) {
  if (index.is<fx::Tuple>()) {
    return std::all_of(index.items().begin(), index.items().end(), picks_once);
  }
  return index.is_int() || index.is<fx::Slice>();
}

/// Functions whose result has at most as many elements as their inputs together.
bool never_grows(std::string_view target, const std::vector<Value>& args) {
  if (target == "operator.getitem") return args.size() == 2 && picks_once(args[1]);
  static const std::vector<std::string_view> functions = {
      "torch.permute",   "torch.reshape",   "torch.flatten", "torch.squeeze",
      "torch.unsqueeze", "torch.transpose", "torch.t",       "torch.cat",
      "torch.neg",       "torch.sqrt",      "torch.select",  "to"};
  return std::find(functions.begin(), functions.end(), target) != functions.end();
}

/// Sum and product of the element counts of all tensors in a value.
struct Elements {
  int64_t sum = 0, product = 1, largest = 0;
  int64_t element_size = 1;  // of the widest, in bytes

  void add(const Value& value) {
    if (value.is_sequence()) {
      for (const Value& item : value.items()) add(item);
    }
    if (!value.is_tensor()) return;
    const int64_t count = std::max<int64_t>(value.tensor().numel(), 1);
    sum += count;
    largest = std::max(largest, count);
    element_size = std::max(element_size, static_cast<int64_t>(value.tensor().element_size()));
    product = std::min(product, kLargestProduct + 1) * std::min(count, kLargestProduct + 1);
  }

  /// Bytes of a result of all tensors beyond the size of the largest one, which is in the file
  /// anyway: one constant can be concatenated with itself many times.
  int64_t added_bytes() const { return (sum - largest) * element_size; }
};

/// @param budget  bytes that folded constants may still take
bool can_compute_now(std::string_view target, const std::vector<Value>& args,
                     const fx::Kwargs& kwargs, int64_t budget) {
  Elements elements;
  for (const Value& arg : args) {
    if (arg.contains_node()) return false;
    elements.add(arg);
  }
  for (const auto& [name, value] : kwargs) {
    if (value.contains_node()) return false;
    elements.add(value);
  }
  const bool small = elements.sum <= kSmallConstant && elements.product <= kLargestProduct;
  return small || (never_grows(target, args) && elements.added_bytes() <= budget);
}

int64_t count_bytes(const Value& value) {
  int64_t bytes = value.is_tensor() ? static_cast<int64_t>(value.tensor().nbytes()) : 0;
  if (value.is_sequence()) {
    for (const Value& item : value.items()) bytes += count_bytes(item);
  }
  return bytes;
}

}  // namespace

Conversion::Conversion(GraphBuilder& builder, onnx::NodeProto& node, int64_t opset)
    : builder_(builder),
      node_(node),
      opset_(opset),
      attributes_(node, builder.external()),
      results_(static_cast<size_t>(node.output_size())) {}

bool Conversion::has_input(size_t i) const {
  return i < input_count() && !node_.input(static_cast<int>(i)).empty();
}

const std::string& Conversion::input_name(size_t i) const {
  SPARSEBIT_CHECK(has_input(i), InvalidModel, type(), " needs an input ", i, ", which is missing");
  return node_.input(static_cast<int>(i));
}

const Operand& Conversion::operand(size_t i) const {
  const Operand* found = builder_.find(input_name(i));
  SPARSEBIT_CHECK(found, Internal, "'", input_name(i), "' is read before it is defined");
  return *found;
}

Value Conversion::tensor(size_t i) {
  return has_input(i) ? builder_.as_tensor(operand(i)) : Value();
}

std::vector<Value> Conversion::tensors() {
  std::vector<Value> all;
  for (size_t i = 0; i < input_count(); ++i) all.push_back(tensor(i));
  return all;
}

Value Conversion::tensor_or_number(size_t i) {
  const at::Tensor* value = has_input(i) ? constant(i) : nullptr;
  if (!value || value->dim() != 0) return tensor(i);
  if (value->scalar_type() == at::kBool) return value->item<bool>();
  if (at::isIntegralType(value->scalar_type(), false)) return value->item<int64_t>();
  return at::isFloatingType(value->scalar_type()) ? Value(value->item<double>()) : tensor(i);
}

const at::Tensor* Conversion::constant(size_t i) const {
  if (!has_input(i)) return nullptr;
  const Operand& found = operand(i);
  return found.is_constant() ? &found.value.tensor() : nullptr;
}

std::optional<double> Conversion::constant_number(size_t i) const {
  const at::Tensor* value = constant(i);
  if (!value || value->numel() != 1 || at::isComplexType(value->scalar_type())) return std::nullopt;
  return value->item<double>();
}

std::optional<std::vector<int64_t>> Conversion::constant_ints(size_t i) const {
  const at::Tensor* value = constant(i);
  if (!value || value->dim() > 1 || !at::isIntegralType(value->scalar_type(), true)) {
    return std::nullopt;
  }
  const at::Tensor longs = value->to(at::kLong).contiguous();
  const auto* const data = longs.data_ptr<int64_t>();
  return std::vector<int64_t>(data, data + longs.numel());
}

std::optional<List> Conversion::int_list(size_t i) const {
  if (!has_input(i)) return std::nullopt;
  if (const auto ints = constant_ints(i)) return Value(*ints).get<List>();
  const Operand& found = operand(i);
  if (found.kind == Operand::Kind::Ints) return found.value.get<List>();
  if (found.kind == Operand::Kind::Int) return List{found.value};
  return std::nullopt;
}

std::optional<fx::TensorInfo> Conversion::info(size_t i) const {
  if (!has_input(i)) return std::nullopt;
  if (const at::Tensor* value = constant(i)) {
    return fx::TensorInfo{value->sizes().vec(), value->scalar_type()};
  }
  const fx::TensorInfo* known = builder_.info(input_name(i));
  return known ? std::optional(*known) : std::nullopt;
}

std::optional<int64_t> Conversion::rank(size_t i) const {
  const auto known = info(i);
  return known ? std::optional(static_cast<int64_t>(known->shape.size())) : std::nullopt;
}

std::optional<at::ScalarType> Conversion::dtype(size_t i) const {
  if (!has_input(i)) return std::nullopt;
  if (const at::Tensor* value = constant(i)) return value->scalar_type();
  return operand(i).is_symbolic() ? std::optional(at::kLong) : builder_.dtype(input_name(i));
}

Value Conversion::size(size_t i, int64_t dim) {
  const auto known = info(i);
  if (known) {
    const auto rank = static_cast<int64_t>(known->shape.size());
    const int64_t index = dim < 0 ? dim + rank : dim;
    if (index >= 0 && index < rank && known->shape[static_cast<size_t>(index)] >= 0) {
      return known->shape[static_cast<size_t>(index)];
    }
  }
  return method("size", {tensor(i), dim});
}

Value Conversion::function(std::string_view target, std::vector<Value> args, fx::Kwargs kwargs) {
  if (builder_.may_compute() && can_compute_now(target, args, kwargs, builder_.budget())) {
    Value result = fx::call_function(target, std::move(args), std::move(kwargs));
    builder_.note_computed(count_bytes(result));
    return result;
  }
  return node(target, std::move(args), std::move(kwargs));
}

Value Conversion::method(std::string_view name, std::vector<Value> args, fx::Kwargs kwargs) {
  if (builder_.may_compute() && can_compute_now(name, args, kwargs, builder_.budget())) {
    Value result = fx::call_method(name, std::move(args), std::move(kwargs));
    builder_.note_computed(count_bytes(result));
    return result;
  }
  return builder_.call(Opcode::CallMethod, name, std::move(args), std::move(kwargs));
}

Value Conversion::node(std::string_view target, std::vector<Value> args, fx::Kwargs kwargs) {
  return builder_.call(Opcode::CallFunction, target, std::move(args), std::move(kwargs));
}

Value Conversion::module(std::string_view type, std::vector<Value> constructor, fx::Kwargs options,
                         const fx::ModuleState& state, std::vector<Value> args) {
  return builder_.call_layer(type, std::move(constructor), std::move(options), state,
                             std::move(args));
}

at::Tensor Conversion::transposed(const at::Tensor& matrix) {
  return builder_.derived_weight(matrix, "t", [&] { return matrix.t().contiguous(); });
}

at::Tensor Conversion::as_vector(const at::Tensor& constant) {
  if (constant.dim() == 1) return constant;
  return builder_.derived_weight(constant, "vector", [&] { return constant.reshape({-1}); });
}

at::Tensor Conversion::derived(const at::Tensor& constant, const std::string& how,
                               const std::function<at::Tensor()>& make) {
  return builder_.derived(constant, how, make);
}

bool Conversion::is_only_reader(size_t i) const { return builder_.is_read_once(input_name(i)); }

const at::Tensor* Conversion::constant_of(const fx::Node& node) const {
  return builder_.module().find_tensor(node.target());
}

const fx::Module* Conversion::layer_of(const fx::Node& node) const {
  return builder_.own_layer(node);
}

void Conversion::undo(fx::Node& node) { builder_.undo(node); }

Value Conversion::item(const Value& tuple, int64_t index) {
  return function("operator.getitem", {tuple, index});
}

bool Conversion::wants_output(size_t i) const {
  return i < output_count() && !node_.output(static_cast<int>(i)).empty();
}

std::optional<fx::TensorInfo> Conversion::output_info(size_t i) const {
  if (!wants_output(i)) return std::nullopt;
  const fx::TensorInfo* known = builder_.info(node_.output(static_cast<int>(i)));
  return known ? std::optional(*known) : std::nullopt;
}

void Conversion::give(size_t i, Operand result) {
  if (i < results_.size()) results_[i] = std::move(result);
}

void Conversion::refuse(const std::string& reason) const {
  throw Error(ErrorKind::Unsupported, reason);
}

}  // namespace sparsebit::frontends
