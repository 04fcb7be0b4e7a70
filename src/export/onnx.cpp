#include "sparsebit/export/onnx.h"

#include "export/exporter.h"
#include "export/onnx_schema.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include <new>
#include <set>

namespace sparsebit::exports {
namespace {

/// The IR version that was released with an opset.
int64_t ir_version(int64_t opset) {
  if (opset <= 11) return 6;
  if (opset <= 14) return 7;
  if (opset <= 18) return 8;
  return opset <= 20 ? 9 : 10;
}

/// Shape inference needs small constants only, so large weights become inputs instead of copies.
onnx::ModelProto without_weights(const onnx::ModelProto& model) {
  constexpr int64_t kMostElements = 1024;
  onnx::ModelProto light;
  light.set_ir_version(model.ir_version());
  *light.mutable_opset_import() = model.opset_import();
  const onnx::GraphProto& graph = model.graph();
  onnx::GraphProto& copy = *light.mutable_graph();
  copy.set_name(graph.name());
  *copy.mutable_node() = graph.node();
  *copy.mutable_input() = graph.input();
  *copy.mutable_output() = graph.output();
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    int64_t elements = 1;
    for (const int64_t dim : tensor.dims()) elements *= dim;
    if (elements <= kMostElements) {
      *copy.add_initializer() = tensor;
      continue;
    }
    onnx::ValueInfoProto& input = *copy.add_input();
    input.set_name(tensor.name());
    auto& type = *input.mutable_type()->mutable_tensor_type();
    type.set_elem_type(tensor.data_type());
    for (const int64_t dim : tensor.dims()) type.mutable_shape()->add_dim()->set_dim_value(dim);
  }
  return light;
}

/// The message without the node that the checker prints after it.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Runs ONNX's checker and shape inference. A failure is a bug in a converter.
void check(const onnx::ModelProto& model) {
  onnx::ModelProto light = without_weights(model);
  try {
    onnx::checker::check_model(light);
    onnx::shape_inference::InferShapes(light, onnx::OpSchemaRegistry::Instance(),
                                       onnx::ShapeInferenceOptions(/*check_type=*/true,
                                                                   /*strict_mode=*/1,
                                                                   /*data_prop=*/true));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    throw Error(ErrorKind::Internal,
                "the exported model is not valid ONNX: " + first_line(e.what()));
  }
}

}  // namespace

NamedOnnx to_named_onnx(const fx::GraphModule& module, const OnnxExportOptions& options) {
  SPARSEBIT_CHECK(options.opset >= kOldestOpset && options.opset <= kNewestOpset, InvalidArgument,
                  "opset must be between ", kOldestOpset, " and ", kNewestOpset, ", got ",
                  options.opset);
  Exporter exporter(module, options);
  onnx::ModelProto model;
  exporter.write(*model.mutable_graph());
  model.set_ir_version(ir_version(options.opset));
  model.set_producer_name("sparsebit");
  model.set_producer_version(SPARSEBIT_VERSION);
  onnx::OperatorSetIdProto& opset = *model.add_opset_import();
  opset.set_domain("");
  opset.set_version(options.opset);
  for (const auto& [domain, version] : exporter.domains()) {
    onnx::OperatorSetIdProto& import = *model.add_opset_import();
    import.set_domain(domain);
    import.set_version(version);
  }
  for (const auto& [key, value] : options.metadata) {
    onnx::StringStringEntryProto& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  const bool checkable = options.opset <= newest_schema_opset() &&
                         !exporter.carries_unknown_operators() && !options.quantized.bits_attribute;
  if (checkable) check(model);
  return {std::move(model), exporter.tensor_names()};
}

onnx::ModelProto to_onnx(const fx::GraphModule& module, const OnnxExportOptions& options) {
  return to_named_onnx(module, options).model;
}

void export_onnx(const fx::GraphModule& module, const std::filesystem::path& path,
                 const OnnxExportOptions& options) {
  io::save_onnx(to_onnx(module, options), path, options.save);
}

bool has_onnx_form(const std::string& operator_name) {
  return operator_name.starts_with("onnx.") || converters().contains(operator_name);
}

}  // namespace sparsebit::exports
