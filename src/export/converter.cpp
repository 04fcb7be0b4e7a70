#include "export/converter.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <ATen/ScalarOps.h>
#include <ATen/native/TypeProperties.h>

#include <algorithm>

namespace sparsebit::exports {
namespace {

/// Replaces nodes with a known value by that value, so that fx::Args can read it.
fx::Args with_known_values(const fx::Args& args, ValueSource& source) {
  std::vector<fx::Value> values;
  for (const fx::Value& value : args.values()) {
    values.push_back(value.map_nodes([&](fx::Node& n) -> fx::Value {
      const NodeResult v = source.value_of(n);
      return v.is_plain() ? v.plain : fx::Value(n);
    }));
  }
  return {args.schema(), std::move(values)};
}

/// A tensor with the same effect on type promotion as `value`.
at::Tensor stand_in(const NodeResult& value) {
  if (value.is_plain() && value.plain.is_number())
    return at::native::wrapped_scalar_tensor(value.plain.to_scalar());
  if (value.is_plain()) return value.plain.tensor();
  const OnnxTensor& sym = value.sym();
  if (value.is_number()) {
    at::Tensor number = at::zeros({}, sym.dtype);
    number.unsafeGetTensorImpl()->set_wrapped_number(true);
    return number;
  }
  const bool dimensioned = !sym.shape || !sym.shape->empty();
  return dimensioned ? at::empty({1}, sym.dtype) : at::empty({}, sym.dtype);
}

}  // namespace

Call::Call(const fx::Node& node, const fx::Args& args, GraphWriter& writer, ValueSource& source)
    : w(writer), node_(node), source_(source), args_(with_known_values(args, source)) {}

void Call::unsupported(const std::string& what) const {
  throw Error(ErrorKind::Unsupported, c10::str("node '", node_.name(), "': ", what));
}

template <class Read>
auto Call::known(std::string_view name, Read read) const {
  if (args_[name].contains_node()) {
    unsupported(c10::str("argument '", name,
                         "' is computed by the graph, ONNX needs a fixed value there; fix the "
                         "sizes it depends on"));
  }
  return read();
}

bool Call::flag(std::string_view name) const {
  return known(name, [&] { return args_.flag(name); });
}
int64_t Call::integer(std::string_view name) const {
  return known(name, [&] { return args_.integer(name); });
}
double Call::number(std::string_view name) const {
  return known(name, [&] { return args_.number(name); });
}
std::string Call::text(std::string_view name) const {
  return known(name, [&] { return args_.text(name); });
}
std::vector<int64_t> Call::ints(std::string_view name) const {
  return known(name, [&] { return args_.ints(name); });
}
std::vector<int64_t> Call::ints(std::string_view name, size_t count) const {
  return known(name, [&] { return args_.ints(name, count); });
}

NodeResult Call::val(std::string_view name) { return value(args_[name]); }

NodeResult Call::value(const fx::Value& value) {
  if (value.is_node()) return source_.value_of(value.node());
  if (!value.contains_node() || !value.is_sequence()) return value;
  std::vector<NodeResult> items;
  for (const fx::Value& item : value.items()) items.push_back(this->value(item));
  return NodeResult::sequence(std::move(items), value.is<fx::List>());
}

std::vector<NodeResult> Call::items(std::string_view name) {
  const NodeResult list = val(name);
  if (list.is_sequence()) return list.items;
  std::vector<NodeResult> items;
  if (!list.is_plain()) unsupported(c10::str("argument '", name, "' is not a list"));
  for (const fx::Value& item : list.plain.items()) items.emplace_back(item);
  return items;
}

std::vector<OnnxTensor> Call::tensors(std::string_view name) {
  std::vector<OnnxTensor> tensors;
  for (const NodeResult& item : items(name)) tensors.push_back(sym(item));
  return tensors;
}

OnnxTensor Call::sym(const NodeResult& value) {
  if (value.is_tensor() || value.is_number()) return value.sym();
  if (value.is_plain() && value.plain.is_tensor())
    return w.constant(value.plain.tensor(), source_.path_of(value.plain.tensor()));
  if (value.is_plain() && value.plain.is_number())
    return w.scalar(value.plain.to_scalar(), dtype_of(value));
  if (value.is_sequence()) return int_vector(value);
  unsupported("expected a tensor, found " + fx::describe(value.plain));
}

OnnxTensor Call::int_vector(const NodeResult& value) {
  if (value.is_tensor() && value.sym().shape && value.sym().rank() == 1)
    return w.cast(value.sym(), at::kLong);
  if (value.is_tensor() || value.is_number())
    return w.reshape(w.cast(value.sym(), at::kLong), Shape{1});
  if (value.is_plain()) {
    if (value.plain.is_tensor()) return w.ints({value.plain.to_int()});
    return w.ints(value.plain.is_sequence() ? value.plain.ints()
                                            : std::vector<int64_t>{value.plain.to_int()});
  }
  std::vector<OnnxTensor> parts;
  std::vector<int64_t> run;  // known numbers, stored as one constant
  const auto flush = [&] {
    if (!run.empty()) parts.push_back(w.ints(run));
    run.clear();
  };
  for (const NodeResult& item : value.items) {
    if (item.is_plain()) {
      run.push_back(item.plain.to_int());
      continue;
    }
    flush();
    parts.push_back(int_vector(item));
  }
  flush();
  return w.concat(parts, 0);
}

OnnxTensor Call::scalar(const NodeResult& value, at::ScalarType dtype) {
  if (value.is_plain() && value.plain.is_number()) return w.scalar(value.plain.to_scalar(), dtype);
  const OnnxTensor x = sym(value);
  const bool flat = x.shape && x.shape->size() == 1;
  return w.cast(flat ? w.squeeze(x, {0}) : x, dtype);
}

OnnxTensor Call::operand(const NodeResult& value, at::ScalarType dtype) {
  if (value.is_plain() && value.plain.is_number()) return w.scalar(value.plain.to_scalar(), dtype);
  return w.cast(sym(value), dtype);
}

at::Tensor Call::model_tensor(std::string_view name) const {
  const fx::Value& value = args_[name];
  if (!value.is_tensor() || source_.path_of(value.tensor()).empty()) return {};
  return value.tensor();
}

bool holds_tensor(const NodeResult& value) {
  return value.is_tensor() || (value.is_plain() && value.plain.is_tensor());
}

at::ScalarType dtype_of(const NodeResult& value) {
  if (!value.is_plain()) return value.sym().dtype;
  if (value.plain.is_tensor()) return value.plain.tensor().scalar_type();
  if (value.plain.is_bool()) return at::kBool;
  return value.plain.is_int() ? at::kLong : at::kDouble;
}

at::ScalarType result_type(const NodeResult& a, const NodeResult& b) {
  for (const NodeResult* v : {&a, &b}) {
    if (dtype_of(*v) == at::ScalarType::Undefined) return dtype_of(v == &a ? b : a);
  }
  return at::result_type(stand_in(a), stand_in(b));
}

at::ScalarType computable(at::ScalarType dtype) {
  const bool narrow =
      dtype == at::kBool || dtype == at::kByte || dtype == at::kChar || dtype == at::kShort;
  return narrow ? at::kInt : dtype;
}

}  // namespace sparsebit::exports
