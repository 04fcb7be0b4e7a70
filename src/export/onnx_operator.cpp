// ONNX operators without a torch counterpart, exported in the form of the target opset.

#include "export/exporter.h"
#include "export/onnx_schema.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

namespace sparsebit::exports {
namespace {

using fx::Node;
using fx::Value;

/// Attributes that became inputs in opsets which the linked onnx library may not know.
bool became_input(const std::string& type, const std::string& name, int64_t opset) {
  const bool axes = name == "axes" && (type.starts_with("Reduce") || type == "Pad");
  return (axes && opset >= 18) || (type == "DFT" && name == "axis" && opset >= 20);
}

/// Where an argument of our operator goes in the ONNX node.
enum class Place { Input, Attribute, Nowhere };

/// The signature of an ONNX operator in one opset.
class Signature {
 public:
  Signature(std::string type, int64_t opset)
      : type_(std::move(type)), opset_(opset), schema_(schema_of(type_, opset)) {}

  /// Whether the opset has the operator, as far as the linked library knows.
  bool exists() const { return schema_ || opset_ > newest_schema_opset(); }

  /// Relies on our schema listing ONNX's inputs first, in order, under their newest names.
  Place place_of(size_t index, const std::string& name, const Value& value) const {
    if (became_input(type_, name, opset_)) return Place::Input;
    if (!schema_) return holds_values(value) ? Place::Input : Place::Attribute;
    if (schema_->attributes().contains(name)) return Place::Attribute;
    for (const auto& input : schema_->inputs()) {
      if (input.GetName() == name) return Place::Input;
    }
    const bool renamed = index < schema_->inputs().size();
    if (renamed) return Place::Input;
    return opset_ > newest_schema_opset() ? Place::Attribute : Place::Nowhere;
  }

  /// Whether `value` is the default of an argument, so that it can be omitted: the default of the
  /// opset, or, where the opset has none, that of the newest opset (`ours`).
  bool implies(const std::string& name, const Value& value, const Value* ours) const {
    if (type_ == "RoiAlign" && name == "coordinate_transformation_mode")
      return value.string() == (opset_ >= 16 ? "half_pixel" : "output_half_pixel");
    if (!schema_ || !schema_->attributes().contains(name)) return ours && value.same_as(*ours);
    return equals(schema_->attributes().at(name).default_value, value);
  }

  /// A constant tensor converted to the type of the attribute that it becomes.
  Value fit(const std::string& name, const Value& value) const {
    const bool attribute = schema_ && schema_->attributes().contains(name);
    if (!value.is_tensor() || !attribute) return value;
    const auto type = schema_->attributes().at(name).type;
    if (type == onnx::AttributeProto::INT) return value.to_int();
    if (type == onnx::AttributeProto::FLOAT) return value.to_double();
    if (type != onnx::AttributeProto::INTS) return value;
    const at::Tensor flat = value.tensor().reshape(-1).to(at::kLong).contiguous();
    return std::vector<int64_t>(flat.data_ptr<int64_t>(), flat.data_ptr<int64_t>() + flat.numel());
  }

  /// The type variable ("T") of an input: inputs with the same one have the same type.
  std::string type_group(size_t input) const {
    if (!schema_ || schema_->inputs().empty()) return "";
    return schema_->inputs()[std::min(input, schema_->inputs().size() - 1)].GetTypeStr();
  }

 private:
  static bool equals(const onnx::AttributeProto& a, const Value& value) {
    if (a.type() == onnx::AttributeProto::INT) return value.is_int() && value.to_int() == a.i();
    if (a.type() == onnx::AttributeProto::STRING)
      return value.is_string() && value.string() == a.s();
    return a.type() == onnx::AttributeProto::FLOAT && value.is_double() &&
           static_cast<float>(value.to_double()) == a.f();
  }

  static bool holds_values(const Value& value) {
    return value.is_tensor() || value.contains_node();
  }

  std::string type_;
  int64_t opset_;
  const onnx::OpSchema* schema_;
};

Attr to_attribute(const std::string& name, const Value& value) {
  if (value.is_string()) return {name, Attr::Content(value.string())};
  if (value.is_double()) return {name, value.to_double()};
  if (value.is_tensor()) return {name, Attr::Content(value.tensor())};
  if (!value.is_sequence()) return {name, value.to_int()};
  const std::vector<Value>& items = value.items();
  const bool real =
      std::any_of(items.begin(), items.end(), [](const Value& v) { return v.is_double(); });
  if (!items.empty() && items[0].is_string()) {
    std::vector<std::string> texts;
    for (const Value& item : items) texts.push_back(item.string());
    return {name, Attr::Content(std::move(texts))};
  }
  if (!real) return {name, Attr::Content(value.ints())};
  std::vector<double> numbers;
  for (const Value& item : items) numbers.push_back(item.to_double());
  return {name, Attr::Content(numbers)};
}

/// An input that may be a plain number or list in our graph. Numbers get type `dtype`, that of the
/// tensors with the same type variable, if it is known.
OnnxTensor plain_input(Call& c, const NodeResult& value, at::ScalarType dtype) {
  if (holds_tensor(value) || value.is_number()) return c.sym(value);
  const bool list = value.is_sequence() || value.plain.is_sequence();
  if (!list) {
    const bool given = dtype != at::ScalarType::Undefined;
    const at::ScalarType own = dtype_of(value) == at::kDouble ? at::kFloat : dtype_of(value);
    return c.scalar(value, given ? dtype : own);
  }
  const bool real =
      value.is_plain() && !value.plain.items().empty() && value.plain.items()[0].is_double();
  if (!real) return c.int_vector(value);
  std::vector<float> numbers;
  for (const Value& item : value.plain.items())
    numbers.push_back(static_cast<float>(item.to_double()));
  return c.w.constant(at::tensor(numbers));
}

struct Operands {
  std::vector<OnnxTensor> inputs;
  Attrs attributes;
};

/// Steps of 1 can be omitted in opsets without the `steps` argument.
bool means_nothing(const Value& value) {
  if (!value.is_sequence()) return false;
  return std::all_of(value.items().begin(), value.items().end(),
                     [](const Value& item) { return item.is_int() && item.to_int() == 1; });
}

/// The value of a weight that is used where an attribute needs a constant.
Value known_value(Call& c, const Value& value) {
  if (!value.is_node()) return value;
  const NodeResult held = c.value(value);
  return held.is_tensor() && held.sym().constant.defined() ? Value(held.sym().constant) : value;
}

/// Replaces None where its meaning differs in an older opset.
Value filled_in(const std::string& type, const std::string& name, const Value& value,
                int64_t opset) {
  const bool newer_axis = type == "DFT" && name == "axis" && opset < 20;
  return newer_axis && value.is_none() ? Value(int64_t{-2}) : value;
}

/// "needs opset 12 or newer": the first opset for which `has` is true.
template <class Has>
std::string needs_newer(int64_t opset, const Has& has) {
  for (int64_t newer = opset + 1; newer <= newest_schema_opset(); ++newer) {
    if (has(newer)) return c10::str(" needs opset ", newer, " or newer");
  }
  return c10::str(" needs a newer opset than ", opset);
}

Operands read_operands(Call& c, const std::string& type) {
  const Signature signature(type, c.w.opset());
  if (!signature.exists()) {
    const auto has = [&](int64_t opset) { return Signature(type, opset).exists(); };
    c.unsupported(type + needs_newer(c.w.opset(), has));
  }
  const auto& parameters = c.args().schema().parameters();
  std::vector<NodeResult> values;
  Operands operands;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const std::string& name = parameters[i].name;
    const Value given = filled_in(type, name, c.args().values()[i], c.w.opset());
    const Place place = signature.place_of(i, name, given);
    if (place == Place::Input) {
      values.push_back(c.val(name));
      continue;
    }
    const Value* ours = parameters[i].default_value ? &*parameters[i].default_value : nullptr;
    if (given.is_none() || signature.implies(name, given, ours)) continue;
    const Value value = signature.fit(name, known_value(c, given));
    if (place == Place::Nowhere && means_nothing(value)) continue;
    if (place == Place::Nowhere || value.contains_node()) {
      const auto has = [&](int64_t opset) {
        return Signature(type, opset).place_of(i, name, given) != Place::Nowhere;
      };
      c.unsupported(c10::str("argument '", name, "' of ", type,
                             place == Place::Nowhere
                                 ? needs_newer(c.w.opset(), has)
                                 : c10::str(" must be fixed in opset ", c.w.opset())));
    }
    operands.attributes.push_back(to_attribute(name, value));
  }
  std::map<std::string, at::ScalarType> groups;
  for (size_t i = 0; i < values.size(); ++i) {
    if (holds_tensor(values[i])) groups.emplace(signature.type_group(i), dtype_of(values[i]));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const auto group = groups.find(signature.type_group(i));
    const at::ScalarType dtype = group == groups.end() ? at::ScalarType::Undefined : group->second;
    const bool is_count = type == "TopK" && i == 1;  // one number in a 1-D tensor
    operands.inputs.push_back(values[i].is_none() ? OnnxTensor{}
                              : is_count ? c.w.reshape(plain_input(c, values[i], dtype), Shape{1})
                                         : plain_input(c, values[i], dtype));
  }
  if (type == "Resize" && c.w.opset() < 13) {  // omitted inputs were empty tensors
    for (const size_t i : {size_t{1}, size_t{2}}) {
      OnnxTensor& input = operands.inputs.at(i);
      if (!input.present()) input = c.w.constant(at::empty({0}, at::kFloat));
    }
  }
  return operands;
}

}  // namespace

int64_t newest_schema_opset() {
  return onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("").second;
}

const onnx::OpSchema* schema_of(const std::string& type, int64_t opset) {
  const int64_t known = std::min(opset, newest_schema_opset());
  return onnx::OpSchemaRegistry::Schema(type, static_cast<int>(known), "");
}

NodeResult as_value(std::vector<OnnxTensor> outputs, bool several) {
  if (!several) return outputs[0];
  std::vector<NodeResult> items(outputs.begin(), outputs.end());
  return NodeResult::sequence(std::move(items));
}

/// Exports an operator that the table calls onnx.Name.
NodeResult Exporter::write_onnx_operator(const Node& node, const fx::OperatorCall& call) {
  const std::string type = call.op->name.substr(std::string("onnx.").size());
  Call view(node, call.args, writer_, *this);
  const Operands operands = read_operands(view, type);
  const Fact* fact = facts_.find(node);
  const size_t items = fact ? fact->items.size() : 0;
  return as_value(
      writer_.emit(type, operands.inputs, operands.attributes, std::max<size_t>(items, 1)),
      items > 0);
}

}  // namespace sparsebit::exports
