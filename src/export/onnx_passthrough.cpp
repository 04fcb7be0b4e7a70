// Unknown operators are exported unchanged.

#include "export/carried.h"
#include "export/exporter.h"
#include "export/onnx_schema.h"
#include "export/subgraphs.h"

#include "sparsebit/core/error.h"
#include "sparsebit/io/onnx_file.h"
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

onnx::ValueInfoProto info_of(const OnnxTensor& sym) {
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

void read_info(const onnx::ValueInfoProto& info, OnnxTensor& sym) {
  const auto& type = info.type().tensor_type();
  if (const auto dtype = io::scalar_type_of(type.elem_type())) sym.dtype = *dtype;
  if (!type.has_shape()) return;
  sym.shape = Shape();
  for (const auto& dim : type.shape().dim())
    sym.shape->push_back(dim.has_dim_value() ? dim.dim_value() : int64_t{-1});
}

/// Types and shapes of one node's results by ONNX's shape inference; unset where it finds none.
void infer_results(const onnx::NodeProto& node, const std::vector<OnnxTensor>& inputs,
                   int64_t opset, std::vector<OnnxTensor>& outputs) {
  onnx::ModelProto model;
  model.set_ir_version(7);
  onnx::OperatorSetIdProto& import = *model.add_opset_import();
  import.set_domain("");
  import.set_version(opset);
  std::set<std::string> named;
  for (const OnnxTensor& input : inputs) {
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
  } catch (const std::exception&) {  // the imported node may be invalid: types stay unknown
    return;
  }
  for (const auto& info : model.graph().value_info()) {
    for (OnnxTensor& output : outputs) {
      if (output.name == info.name()) read_info(info, output);
    }
  }
}

}  // namespace

NodeResult Exporter::carry_through(const Node& node) {
  std::vector<OnnxTensor> inputs;
  onnx::NodeProto proto = carried_node(node, [&](const Value& value) {
    return inputs.emplace_back(carried_input(node, value)).name;
  });
  const int64_t count = carried_outputs(node);
  carries_unknown_ |= node.kwarg("_reason") != nullptr;  // ONNX's checker may reject it, too
  check_carried_opsets(node, proto);
  proto.set_name(writer_.unique_name(node.name() + "/" + proto.op_type()));
  std::vector<OnnxTensor> outputs(static_cast<size_t>(count));
  for (OnnxTensor& output : outputs) {
    output.name = writer_.unique_name(node.name() + "/output");
    proto.add_output(output.name);
  }
  const bool known_rules = proto.domain().empty() && writer_.opset() <= newest_schema_opset();
  if (known_rules) infer_results(proto, inputs, writer_.opset(), outputs);
  writer_.append(std::move(proto));
  return as_value(std::move(outputs), count != 1);
}

OnnxTensor Exporter::carried_input(const Node& node, const Value& value) {
  const NodeResult held = value.is_node() ? value_of(value.node()) : NodeResult(value);
  if (held.is_none()) return {};
  if (!held.is_plain()) return held.sym();
  SPARSEBIT_CHECK(held.plain.is_tensor() || held.plain.is_number(), InvalidModel, "node '",
                  node.name(), "' cannot take ", fx::describe(held.plain));
  if (held.plain.is_number()) return writer_.scalar(held.plain.to_scalar(), dtype_of(held));
  return writer_.constant(held.plain.tensor(), path_of(held.plain.tensor()));
}

/// Adds the domains of a carried node and its subgraphs to those of the file.
void Exporter::check_carried_opsets(const Node& node, const onnx::NodeProto& proto) {
  const std::map<std::string, int64_t> versions = carried_domains(node);
  for (const auto& [domain, version] : versions) {
    if (domain.empty()) continue;
    const auto [it, is_new] = domains_.emplace(domain, version);
    SPARSEBIT_CHECK(it->second == version, Unsupported, "node '", node.name(), "' needs version ",
                    version, " of the domain '", domain, "', other nodes need ", it->second);
  }
  const auto own = versions.find("");
  if (own == versions.end()) return;
  for_each_node(proto, [&](const onnx::NodeProto& inner) {
    if (io::is_default_domain(inner.domain())) {
      check_carried_opset(node, inner.op_type(), own->second);
    }
  });
}

/// A carried ONNX operator can be exported to another opset only if it did not change in between,
/// which is known only for opsets of the linked onnx library.
void Exporter::check_carried_opset(const Node& node, const std::string& type, int64_t opset) {
  const bool is_known = schema_of(type, std::max(opset, writer_.opset())) != nullptr;
  carries_unknown_ |= !is_known;
  if (opset == writer_.opset()) return;
  const int64_t newest = newest_schema_opset();
  const onnx::OpSchema* before = opset <= newest ? schema_of(type, opset) : nullptr;
  const onnx::OpSchema* now =
      writer_.opset() <= newest ? schema_of(type, writer_.opset()) : nullptr;
  const bool same = before && now && before->SinceVersion() == now->SinceVersion();
  SPARSEBIT_CHECK(
      same, Unsupported, "node '", node.name(), "': ", type, " was written for opset ", opset,
      " and may have changed in opset ", writer_.opset(),
      opset >= kOldestOpset && opset <= kNewestOpset
          ? c10::str("; export with opset ", opset, " (--opset ", opset, ")")
          : c10::str("; only opsets ", kOldestOpset, " to ", kNewestOpset, " can be exported"));
}

}  // namespace sparsebit::exports
