#include "frontends/onnx/attributes.h"

#include "sparsebit/core/error.h"
#include "sparsebit/io/onnx_all_tensors.h"
#include "sparsebit/io/onnx_attribute.h"

namespace sparsebit::frontends {
namespace {

using fx::Dict;
using fx::List;
using fx::Value;
using onnx::AttributeProto;

/// Old files leave the type out; then the type follows from the field that is set.
AttributeProto::AttributeType type_of(const AttributeProto& attribute) {
  if (attribute.type() != AttributeProto::UNDEFINED) return attribute.type();
  if (attribute.has_f()) return AttributeProto::FLOAT;
  if (attribute.has_i()) return AttributeProto::INT;
  if (attribute.has_s()) return AttributeProto::STRING;
  if (attribute.has_t()) return AttributeProto::TENSOR;
  if (attribute.has_g()) return AttributeProto::GRAPH;
  if (attribute.floats_size()) return AttributeProto::FLOATS;
  if (attribute.ints_size()) return AttributeProto::INTS;
  if (attribute.strings_size()) return AttributeProto::STRINGS;
  return AttributeProto::UNDEFINED;
}

template <class Items>
List list_of(const Items& items) {
  List list;
  for (const auto& item : items) list.items.emplace_back(item);
  return list;
}

List doubles(const google::protobuf::RepeatedField<float>& items) {
  List list;
  for (const float item : items) list.items.emplace_back(static_cast<double>(item));
  return list;
}

Value as_text(AttributeProto attribute, io::ExternalData& external) {
  // Load external data: the exported file would otherwise point to missing data files.
  io::for_each_tensor(attribute, [&external](onnx::TensorProto& tensor) {
    io::embed_external_data(tensor, external);
  });
  io::AttributeText text = io::attribute_to_text(attribute);
  return Dict{{std::move(text.form), std::move(text.text)}};
}

/// Whether libtorch has this element type itself, rather than only a wider one for its values.
bool has_own_dtype(int type) { return io::scalar_type_of(type) && !io::is_four_bit(type); }

/// Strings of a file may contain any bytes; a Value holds text only.
bool is_printable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= 32 && c < 127; });
}

}  // namespace

Attributes::Attributes(onnx::NodeProto& node, io::ExternalData& external)
    : node_(node), external_(external) {}

AttributeProto* Attributes::find(std::string_view name) const {
  for (AttributeProto& attribute : *node_.mutable_attribute()) {
    if (attribute.name() != name) continue;
    read_.emplace(name);
    return &attribute;
  }
  return nullptr;
}

AttributeProto* Attributes::find(std::string_view name, AttributeProto::AttributeType type) const {
  AttributeProto* const attribute = find(name);
  // An empty list without a type could be of any list type, so UNDEFINED is accepted.
  const auto found = attribute ? type_of(*attribute) : AttributeProto::UNDEFINED;
  SPARSEBIT_CHECK(!attribute || found == type || found == AttributeProto::UNDEFINED, InvalidModel,
                  "attribute '", name, "' is of type ", AttributeProto::AttributeType_Name(found),
                  ", expected ", AttributeProto::AttributeType_Name(type));
  return attribute;
}

void Attributes::missing(std::string_view name) const {
  throw Error(ErrorKind::InvalidModel,
              c10::str(node_.op_type(), " needs an attribute '", name, "'"));
}

int64_t Attributes::integer(std::string_view name) const {
  const AttributeProto* attribute = find(name, AttributeProto::INT);
  if (!attribute) missing(name);
  return attribute->i();
}

int64_t Attributes::integer(std::string_view name, int64_t otherwise) const {
  const AttributeProto* attribute = find(name, AttributeProto::INT);
  return attribute ? attribute->i() : otherwise;
}

double Attributes::number(std::string_view name) const {
  const AttributeProto* attribute = find(name, AttributeProto::FLOAT);
  if (!attribute) missing(name);
  return attribute->f();
}

double Attributes::number(std::string_view name, double otherwise) const {
  const AttributeProto* attribute = find(name, AttributeProto::FLOAT);
  return attribute ? attribute->f() : otherwise;
}

std::string Attributes::text(std::string_view name, std::string otherwise) const {
  const AttributeProto* attribute = find(name, AttributeProto::STRING);
  return attribute ? attribute->s() : otherwise;
}

std::optional<std::vector<int64_t>> Attributes::ints(std::string_view name) const {
  const AttributeProto* attribute = find(name, AttributeProto::INTS);
  if (!attribute) return std::nullopt;
  return std::vector<int64_t>(attribute->ints().begin(), attribute->ints().end());
}

std::vector<int64_t> Attributes::ints(std::string_view name, std::vector<int64_t> otherwise) const {
  return ints(name).value_or(std::move(otherwise));
}

std::optional<std::vector<double>> Attributes::numbers(std::string_view name) const {
  const AttributeProto* attribute = find(name, AttributeProto::FLOATS);
  if (!attribute) return std::nullopt;
  return std::vector<double>(attribute->floats().begin(), attribute->floats().end());
}

std::optional<std::vector<std::string>> Attributes::texts(std::string_view name) const {
  const AttributeProto* attribute = find(name, AttributeProto::STRINGS);
  if (!attribute) return std::nullopt;
  return std::vector<std::string>(attribute->strings().begin(), attribute->strings().end());
}

std::optional<at::Tensor> Attributes::tensor(std::string_view name) const {
  AttributeProto* attribute = find(name, AttributeProto::TENSOR);
  if (!attribute) return std::nullopt;
  const int type = attribute->t().data_type();
  SPARSEBIT_CHECK(!io::is_four_bit(type) || node_.op_type() == "Constant", Unsupported,
                  "element type ", io::onnx_type_name(type), " is not supported");
  onnx::TensorProto copy = attribute->t();  // the node may still have to be carried unchanged
  return io::take_tensor(copy, external_);
}

std::optional<at::ScalarType> Attributes::dtype(std::string_view name) const {
  if (!has(name)) return std::nullopt;
  const auto type = static_cast<int>(integer(name));
  const std::optional<at::ScalarType> dtype = io::scalar_type_of(type);
  SPARSEBIT_CHECK(has_own_dtype(type), Unsupported, "element type ", io::onnx_type_name(type),
                  " is not supported");
  return dtype;
}

std::vector<std::string> Attributes::unread() const {
  std::vector<std::string> names;
  for (const AttributeProto& attribute : node_.attribute()) {
    if (!read_.contains(attribute.name())) names.push_back(attribute.name());
  }
  return names;
}

fx::Value carried_attribute(const AttributeProto& attribute, io::ExternalData& external) {
  switch (type_of(attribute)) {
    case AttributeProto::INT:
      return attribute.i();
    case AttributeProto::FLOAT:
      return static_cast<double>(attribute.f());
    case AttributeProto::STRING:
      if (is_printable(attribute.s())) return attribute.s();
      break;
    case AttributeProto::INTS:
      if (attribute.ints_size()) return list_of(attribute.ints());
      break;
    case AttributeProto::FLOATS:
      if (attribute.floats_size()) return doubles(attribute.floats());
      break;
    case AttributeProto::STRINGS:
      if (attribute.strings_size() &&
          std::all_of(attribute.strings().begin(), attribute.strings().end(), is_printable)) {
        return list_of(attribute.strings());
      }
      break;
    case AttributeProto::TENSOR:
      if (has_own_dtype(attribute.t().data_type())) {
        onnx::TensorProto copy = attribute.t();
        return io::take_tensor(copy, external);
      }
      break;
    default:
      break;
  }
  return as_text(attribute, external);
}

fx::Value attribute_argument(const AttributeProto& attribute, io::ExternalData& external) {
  const auto type = type_of(attribute);
  // Without a type it can only be an empty list: other attributes cannot be empty.
  const bool is_list = type == AttributeProto::INTS || type == AttributeProto::FLOATS ||
                       type == AttributeProto::STRINGS || type == AttributeProto::UNDEFINED;
  const bool is_empty =
      attribute.ints_size() + attribute.floats_size() + attribute.strings_size() == 0;
  if (is_list && is_empty) return List();
  Value value = carried_attribute(attribute, external);
  SPARSEBIT_CHECK(!value.is<Dict>(), Unsupported, "the attribute '", attribute.name(),
                  "' is of an unsupported type");
  return value;
}

}  // namespace sparsebit::frontends
