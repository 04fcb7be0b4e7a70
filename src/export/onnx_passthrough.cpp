// Operators that only ONNX has: those of our table in the form of the wanted opset, and those
// nobody knows as they came.

#include "export/carried.h"
#include "export/exporter.h"

#include "sparsebit/core/error.h"
#include "sparsebit/io/onnx_tensor.h"

#include <ATen/ATen.h>
#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <set>

namespace sparsebit::exports {
namespace {

using fx::Node;
using fx::Value;

int64_t newest_schema_opset() {
  return onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("").second;
}

/// Null when the linked onnx library does not know the operator.
const onnx::OpSchema* schema_of(const std::string& type, int64_t opset) {
  const int64_t known = std::min(opset, newest_schema_opset());
  return onnx::OpSchemaRegistry::Schema(type, static_cast<int>(known), "");
}

/// Attributes that became inputs in opsets newer than the linked library.
bool became_input(const std::string& type, const std::string& name, int64_t opset) {
  const bool axes = name == "axes" && (type.starts_with("Reduce") || type == "Pad");
  return (axes && opset >= 18) || (type == "DFT" && name == "axis" && opset >= 20);
}

/// Where an argument of our table's operator goes.
enum class Place { Input, Attribute, Nowhere };

/// The signature of an ONNX operator in one opset.
class Signature {
 public:
  Signature(std::string type, int64_t opset)
      : type_(std::move(type)), opset_(opset), schema_(schema_of(type_, opset)) {}

  /// Our schema lists ONNX's inputs first, in order, under their newest names.
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

  /// The group of inputs of one type that an input belongs to.
  std::string type_group(size_t input) const {
    if (!schema_ || schema_->inputs().empty()) return "";
    return schema_->inputs()[std::min(input, schema_->inputs().size() - 1)].GetTypeStr();
  }

 private:
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
  if (!real) return {name, Attr::Content(value.ints())};
  std::vector<double> numbers;
  for (const Value& item : items) numbers.push_back(item.to_double());
  return {name, Attr::Content(numbers)};
}

/// An input that is a plain number or list in our graph. Numbers take the type of the tensors that
/// must have the same one.
Sym plain_input(Call& c, const Val& value, at::ScalarType dtype) {
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
  std::vector<Sym> inputs;
  Attrs attributes;
};

Operands read_operands(Call& c, const std::string& type) {
  const Signature signature(type, c.w.opset());
  const auto& parameters = c.args().schema().parameters();
  std::vector<Val> values;
  Operands operands;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Value& value = c.args().values()[i];
    const bool is_default =
        parameters[i].default_value && value.same_as(*parameters[i].default_value);
    const Place place = signature.place_of(i, parameters[i].name, value);
    if (place == Place::Input) {
      values.push_back(c.val(parameters[i].name));
    } else if (!is_default && !value.is_none()) {
      if (place == Place::Nowhere || value.contains_node()) {
        c.unsupported(c10::str(
            "argument '", parameters[i].name, "' of ", type,
            place == Place::Nowhere ? " needs a newer opset than " : " must be fixed in opset ",
            c.w.opset()));
      }
      operands.attributes.push_back(to_attribute(parameters[i].name, value));
    }
  }
  std::map<std::string, at::ScalarType> groups;
  for (size_t i = 0; i < values.size(); ++i) {
    if (holds_tensor(values[i])) groups.emplace(signature.type_group(i), dtype_of(values[i]));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const auto group = groups.find(signature.type_group(i));
    const at::ScalarType dtype = group == groups.end() ? at::ScalarType::Undefined : group->second;
    operands.inputs.push_back(values[i].is_none() ? Sym{} : plain_input(c, values[i], dtype));
  }
  return operands;
}

onnx::ValueInfoProto info_of(const Sym& sym) {
  onnx::ValueInfoProto info;
  info.set_name(sym.name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(io::onnx_type_of(sym.dtype));
  if (!sym.shape) return info;
  auto& shape = *type.mutable_shape();
  for (const int64_t size : *sym.shape) {
    auto& dim = *shape.add_dim();
    if (size >= 0) dim.set_dim_value(size);
  }
  return info;
}

void read_info(const onnx::ValueInfoProto& info, Sym& sym) {
  const auto& type = info.type().tensor_type();
  if (const auto dtype = io::scalar_type_of(type.elem_type())) sym.dtype = *dtype;
  if (!type.has_shape()) return;
  sym.shape = Shape();
  for (const auto& dim : type.shape().dim())
    sym.shape->push_back(dim.has_dim_value() ? dim.dim_value() : int64_t{-1});
}

/// What ONNX's own rules say about the results of one node; nothing where they say nothing.
void infer_results(const onnx::NodeProto& node, const std::vector<Sym>& inputs, int64_t opset,
                   std::vector<Sym>& outputs) {
  onnx::ModelProto model;
  model.set_ir_version(7);
  onnx::OperatorSetIdProto& import = *model.add_opset_import();
  import.set_domain("");
  import.set_version(opset);
  std::set<std::string> named;
  for (const Sym& input : inputs) {
    if (!input.present() || !named.insert(input.name).second) continue;
    if (input.dtype == at::ScalarType::Undefined) return;
    *model.mutable_graph()->add_input() = info_of(input);
    const bool small = input.constant.defined() && input.constant.numel() <= 64;
    if (small)
      *model.mutable_graph()->add_initializer() = io::to_tensor_proto(input.constant, input.name);
  }
  *model.mutable_graph()->add_node() = node;
  try {
    onnx::shape_inference::InferShapes(model);
  } catch (const std::exception&) {  // a model of somebody else's making: its types stay open
    return;
  }
  for (const auto& info : model.graph().value_info()) {
    for (Sym& output : outputs) {
      if (output.name == info.name()) read_info(info, output);
    }
  }
}

Val results(std::vector<Sym> outputs, bool several) {
  if (!several) return outputs[0];
  std::vector<Val> items(outputs.begin(), outputs.end());
  return Val::sequence(std::move(items));
}

}  // namespace

/// An operator of the table that is spelled onnx.Name.
Val Exporter::write_onnx_operator(const Node& node, const fx::OperatorCall& call) {
  const std::string type = call.op->name.substr(std::string("onnx.").size());
  Call view(node, call.args, writer_, *this);
  const Operands operands = read_operands(view, type);
  const Fact* fact = facts_.find(node);
  const size_t items = fact ? fact->items.size() : 0;
  return results(
      writer_.emit(type, operands.inputs, operands.attributes, std::max<size_t>(items, 1)),
      items > 0);
}

Val Exporter::carry_through(const Node& node) {
  std::vector<Sym> inputs;
  onnx::NodeProto proto = carried_node(node, [&](const Value& value) {
    return inputs.emplace_back(carried_input(node, value)).name;
  });
  const int64_t opset = carried_opset(node), count = carried_outputs(node);
  if (!proto.domain().empty()) {
    const auto [it, is_new] = domains_.emplace(proto.domain(), opset);
    SPARSEBIT_CHECK(it->second == opset, Unsupported, "node '", node.name(), "' needs version ",
                    opset, " of '", proto.domain(), "', others need ", it->second);
  } else {
    check_carried_opset(node, proto.op_type(), opset);
  }
  proto.set_name(writer_.unique_name(node.name() + "/" + proto.op_type()));
  std::vector<Sym> outputs(static_cast<size_t>(count));
  for (Sym& output : outputs) {
    output.name = writer_.unique_name(node.name() + "/output");
    proto.add_output(output.name);
  }
  const bool known_rules = proto.domain().empty() && writer_.opset() <= newest_schema_opset();
  if (known_rules) infer_results(proto, inputs, writer_.opset(), outputs);
  writer_.append(std::move(proto));
  return results(std::move(outputs), count != 1);
}

Sym Exporter::carried_input(const Node& node, const Value& value) {
  const Val held = value.is_node() ? value_of(value.node()) : Val(value);
  if (held.is_none()) return {};
  if (!held.is_plain()) return held.sym();
  SPARSEBIT_CHECK(held.plain.is_tensor() || held.plain.is_number(), InvalidModel, "node '",
                  node.name(), "' cannot take ", fx::describe(held.plain));
  if (held.plain.is_number()) return writer_.scalar(held.plain.to_scalar(), dtype_of(held));
  return writer_.constant(held.plain.tensor(), path_of(held.plain.tensor()));
}

/// An operator of ONNX itself can be written in another opset only if it did not change between.
void Exporter::check_carried_opset(const Node& node, const std::string& type, int64_t opset) {
  const onnx::OpSchema* known = schema_of(type, std::max(opset, writer_.opset()));
  if (!known) {
    carries_unknown_ = true;
    return;
  }
  const onnx::OpSchema* before = schema_of(type, opset);
  const onnx::OpSchema* now = schema_of(type, writer_.opset());
  const bool same = before && now && before->SinceVersion() == now->SinceVersion();
  SPARSEBIT_CHECK(same, Unsupported, "node '", node.name(), "': ", type, " was written for opset ",
                  opset, " and is another operator in opset ", writer_.opset(),
                  "; export with opset ", opset);
}

}  // namespace sparsebit::exports
