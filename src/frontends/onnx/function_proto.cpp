#include "frontends/onnx/function_proto.h"

#include "frontends/onnx/domains.h"

#include "sparsebit/core/error.h"
#include "sparsebit/io/onnx_file.h"
#include "sparsebit/io/onnx_subgraphs.h"

#include <google/protobuf/unknown_field_set.h>
#include <onnx/defs/schema.h>

#include <functional>

namespace sparsebit::frontends {
namespace {

constexpr int kFunctionDefaults = 11, kFunctionOverload = 13, kNodeOverload = 8;

template <class Message>
void for_each_unknown(const Message& message, int number,
                      const std::function<void(const std::string&)>& visit) {
  const auto& fields = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::UnknownField& field = fields.field(i);
    const bool has_bytes = field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED;
    if (field.number() == number && has_bytes) visit(field.length_delimited());
  }
}

template <class Message>
std::string text_of(const Message& message, int number) {
  std::string text;
  for_each_unknown(message, number, [&](const std::string& bytes) { text = bytes; });
  return text;
}

/// The operator set that introduced this form of the operator; empty when the linked library does
/// not know the operator or the operator set.
std::optional<int> since_version(const std::string& type, int64_t version) {
  const auto& ranges = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  if (version > ranges.at("").second) return std::nullopt;
  const auto* schema = onnx::OpSchemaRegistry::Schema(type, static_cast<int>(version), "");
  return schema ? std::optional(schema->SinceVersion()) : std::nullopt;
}

/// Whether an operator may mean something else in operator set `b` than in `a`.
bool may_differ(const onnx::NodeProto& node, int64_t a, int64_t b) {
  if (a == b) return false;
  const auto before =
      io::is_default_domain(node.domain()) ? since_version(node.op_type(), a) : std::nullopt;
  return !before || before != since_version(node.op_type(), b);
}

/// The first node whose operator may mean something else; null when there is none.
template <class Nodes>
const onnx::NodeProto* find_changed(const Nodes& nodes, const OperatorSets& written_for,
                                    const OperatorSets& used) {
  for (const onnx::NodeProto& node : nodes) {
    const auto before = written_for.find(node.domain()), after = used.find(node.domain());
    if (before && after && may_differ(node, *before, *after)) return &node;
    const onnx::NodeProto* changed = nullptr;
    io::for_each_graph(node, [&](const onnx::GraphProto& graph) {
      if (!changed) changed = find_changed(graph.node(), written_for, used);
    });
    if (changed) return changed;
  }
  return nullptr;
}

}  // namespace

std::string overload_of(const onnx::FunctionProto& function) {
  return text_of(function, kFunctionOverload);
}

std::string overload_of(const onnx::NodeProto& node) { return text_of(node, kNodeOverload); }

std::map<std::string, onnx::AttributeProto> defaults_of(const onnx::FunctionProto& function) {
  std::map<std::string, onnx::AttributeProto> defaults;
  for_each_unknown(function, kFunctionDefaults, [&](const std::string& bytes) {
    onnx::AttributeProto attribute;
    SPARSEBIT_CHECK(attribute.ParseFromString(bytes), InvalidModel,
                    "an attribute default of the function '", function.name(),
                    "' cannot be parsed");
    defaults[attribute.name()] = attribute;
  });
  return defaults;
}

void check_same_operators(const onnx::FunctionProto& function, const OperatorSets& written_for,
                          const OperatorSets& used) {
  const onnx::NodeProto* changed = find_changed(function.node(), written_for, used);
  if (!changed) return;
  const std::string& domain = changed->domain();
  SPARSEBIT_CHECK(false, Unsupported, "the function '", function.name(),
                  "' is written for version ", written_for.version(domain), " of ",
                  io::is_default_domain(domain) ? "ONNX's operators" : "'" + domain + "'",
                  ", the model for version ", used.version(domain), ", where ", changed->op_type(),
                  " may mean something else");
}

}  // namespace sparsebit::frontends
