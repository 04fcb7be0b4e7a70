#include "sparsebit/fx/ops/value.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/ops/value_text.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sparsebit::fx {

List::List(std::initializer_list<Value> values) : items(values) {}
List::List(std::vector<Value> values) : items(std::move(values)) {}
Tuple::Tuple(std::initializer_list<Value> values) : items(values) {}
Tuple::Tuple(std::vector<Value> values) : items(std::move(values)) {}
Dict::Dict(std::initializer_list<std::pair<std::string, Value>> values) : items(values) {}

const Value* Dict::find(std::string_view key) const {
  for (const auto& [name, value] : items) {
    if (name == key) return &value;
  }
  return nullptr;
}

Slice::Slice() : bounds(3) {}
Slice::Slice(Value start, Value stop) : bounds{std::move(start), std::move(stop), Value()} {}
Slice::Slice(Value start, Value stop, Value step)
    : bounds{std::move(start), std::move(stop), std::move(step)} {}
const Value& Slice::start() const { return bounds[0]; }
const Value& Slice::stop() const { return bounds[1]; }
const Value& Slice::step() const { return bounds[2]; }

Value::Value(at::Tensor v) {
  if (v.defined()) data_ = std::move(v);
}

Value::Value(const std::vector<int64_t>& v) : data_(List(std::vector<Value>(v.begin(), v.end()))) {}

namespace {

[[noreturn]] void fail(const Value& value, const char* expected) {
  SPARSEBIT_CHECK(!value.is_node(), DataDependent, "the model needs ", expected,
                  " that depends on a traced value; values are not known while tracing");
  throw Error(ErrorKind::InvalidArgument,
              {.what = "wrong type", .expected = expected, .found = describe(value)});
}

bool is_single(const Value& value) {
  return value.is_tensor() && value.get<at::Tensor>().numel() == 1;
}

}  // namespace

const at::Tensor& Value::tensor() const {
  if (!is_tensor()) fail(*this, "a tensor");
  return get<at::Tensor>();
}

bool Value::to_bool() const {
  if (is_bool()) return get<bool>();
  if (is_int()) return get<int64_t>() != 0;
  if (is_single(*this)) return get<at::Tensor>().is_nonzero();
  fail(*this, "a bool");
}

int64_t Value::to_int() const {
  if (is_int()) return get<int64_t>();
  if (is_bool()) return get<bool>() ? 1 : 0;
  if (is_single(*this) && at::isIntegralType(get<at::Tensor>().scalar_type(), true)) {
    return get<at::Tensor>().item<int64_t>();
  }
  fail(*this, "an int");
}

double Value::to_double() const {
  if (is_double()) return get<double>();
  if (is_int()) return static_cast<double>(get<int64_t>());
  if (is_bool()) return get<bool>() ? 1.0 : 0.0;
  if (is_single(*this)) return get<at::Tensor>().item<double>();
  fail(*this, "a number");
}

at::Scalar Value::to_scalar() const {
  if (is_bool()) return get<bool>();
  if (is_int()) return get<int64_t>();
  if (is_double()) return get<double>();
  if (is_single(*this)) return get<at::Tensor>().item();
  fail(*this, "a number");
}

const std::string& Value::string() const {
  if (!is_string()) fail(*this, "a string");
  return get<std::string>();
}

at::ScalarType Value::dtype() const {
  if (!is<at::ScalarType>()) fail(*this, "a dtype");
  return get<at::ScalarType>();
}

at::Device Value::device() const {
  if (is_string()) return at::Device(get<std::string>());
  if (!is<at::Device>()) fail(*this, "a device");
  return get<at::Device>();
}

Node& Value::node() const {
  if (!is_node()) fail(*this, "a node");
  return *get<Node*>();
}

const std::vector<Value>& Value::items() const {
  if (is<List>()) return get<List>().items;
  if (is<Tuple>()) return get<Tuple>().items;
  fail(*this, "a list or tuple");
}

std::vector<int64_t> Value::ints() const {
  std::vector<int64_t> result;
  for (const Value& item : items()) result.push_back(item.to_int());
  return result;
}

std::vector<at::Tensor> Value::tensors() const {
  std::vector<at::Tensor> result;
  for (const Value& item : items()) result.push_back(item.tensor());
  return result;
}

void Value::for_each_node(const std::function<void(Node&)>& visit) const {
  if (is_node()) return visit(*get<Node*>());
  if (is<Dict>()) {
    for (const auto& [name, item] : get<Dict>().items) item.for_each_node(visit);
  } else if (is_sequence()) {
    for (const Value& item : items()) item.for_each_node(visit);
  } else if (is<Slice>()) {
    for (const Value& bound : get<Slice>().bounds) bound.for_each_node(visit);
  }
}

Value Value::map_nodes(const std::function<Value(Node&)>& replace) const {
  return map_items([&](const Value& item) {  //
    return item.is_node() ? replace(*item.get<Node*>()) : item;
  });
}

Value Value::map_items(const std::function<Value(const Value&)>& replace) const {
  Value copy = *this;
  if (List* list = std::get_if<List>(&copy.data_)) {
    for (Value& item : list->items) item = item.map_items(replace);
  } else if (Tuple* tuple = std::get_if<Tuple>(&copy.data_)) {
    for (Value& item : tuple->items) item = item.map_items(replace);
  } else if (Dict* dict = std::get_if<Dict>(&copy.data_)) {
    for (auto& [name, item] : dict->items) item = item.map_items(replace);
  } else if (Slice* slice = std::get_if<Slice>(&copy.data_)) {
    for (Value& bound : slice->bounds) bound = bound.map_items(replace);
  } else {
    return replace(*this);
  }
  return copy;
}

void Value::replace_node(const Node& old, const Value& replacement) {
  if (is_node()) {
    if (get<Node*>() == &old) data_ = Variant(replacement.data_);
  } else if (List* list = std::get_if<List>(&data_)) {
    for (Value& item : list->items) item.replace_node(old, replacement);
  } else if (Tuple* tuple = std::get_if<Tuple>(&data_)) {
    for (Value& item : tuple->items) item.replace_node(old, replacement);
  } else if (Dict* dict = std::get_if<Dict>(&data_)) {
    for (auto& [name, item] : dict->items) item.replace_node(old, replacement);
  } else if (Slice* slice = std::get_if<Slice>(&data_)) {
    for (Value& bound : slice->bounds) bound.replace_node(old, replacement);
  }
}

bool Value::contains_node() const {
  if (is_node()) return true;
  bool found = false;
  for_each_node([&](Node&) { found = true; });
  return found;
}

bool Value::operator==(const Value& other) const {
  if (is_node() || other.is_node()) fail(is_node() ? *this : other, "a comparison");
  return same_as(other);
}

namespace {

bool all_same(const std::vector<Value>& a, const std::vector<Value>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Value& x, const Value& y) { return x.same_as(y); });
}

}  // namespace

bool Value::same_as(const Value& other) const {
  if (data_.index() != other.data_.index()) return false;
  if (is_sequence()) return all_same(items(), other.items());
  if (is<Slice>()) return all_same(get<Slice>().bounds, other.get<Slice>().bounds);
  if (is<Dict>()) {
    const auto &mine = get<Dict>().items, &theirs = other.get<Dict>().items;
    return std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end(),
                      [](const auto& x, const auto& y) {
                        return x.first == y.first && x.second.same_as(y.second);
                      });
  }
  if (is_tensor()) return get<at::Tensor>().is_same(other.get<at::Tensor>());
  return std::visit(
      [&](const auto& mine) {
        using T = std::decay_t<decltype(mine)>;
        if constexpr (std::equality_comparable<T>) {
          return mine == other.get<T>();
        } else {
          return false;  // containers were compared above
        }
      },
      data_);
}

std::string dtype_name(at::ScalarType dtype) {
  switch (dtype) {
    case at::kByte:
      return "uint8";
    case at::kChar:
      return "int8";
    case at::kShort:
      return "int16";
    case at::kInt:
      return "int32";
    case at::kLong:
      return "int64";
    case at::kHalf:
      return "float16";
    case at::kFloat:
      return "float32";
    case at::kDouble:
      return "float64";
    case at::kBool:
      return "bool";
    case at::kBFloat16:
      return "bfloat16";
    case at::kComplexFloat:
      return "complex64";
    case at::kComplexDouble:
      return "complex128";
    default:
      return at::toString(dtype);
  }
}

std::string describe(const Value& value) {
  if (value.is_tensor()) {
    const at::Tensor& tensor = value.get<at::Tensor>();
    return c10::str("Tensor[", c10::Join(", ", tensor.sizes()), "] ",
                    dtype_name(tensor.scalar_type()));
  }
  if (value.is_node()) return "a traced value";
  static constexpr const char* kKinds[] = {"", "bool", "int",  "float", "str",  "dtype", "device",
                                           "", "",     "list", "tuple", "dict", "slice", ""};
  const std::string kind = kKinds[value.variant().index()];
  const std::string text = format_value(value, [](const Node&) { return std::string("%?"); });
  return kind.empty() ? text : kind + " " + text;
}

}  // namespace sparsebit::fx
