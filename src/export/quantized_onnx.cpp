#include "sparsebit/export/quantized_onnx.h"

#include "export/integer_operators.h"

#include "sparsebit/core/error.h"
#include "sparsebit/export/clipped_weights.h"
#include "sparsebit/quant/quantizers/bias.h"

#include <nlohmann/json.hpp>

namespace sparsebit::exports {
namespace {

/// Bit widths by value name, as JSON for tools.
std::string bits_of(const quant::QuantModel& model) {
  nlohmann::ordered_json json;
  for (const quant::QuantPoint& point : model.points()) {
    if (!quant::stays_float(*point.quantizer)) json[point.value] = point.quantizer->spec().bits;
  }
  return json.dump();
}

void import_microsoft(onnx::ModelProto& model) {
  constexpr const char* kDomain = "com.microsoft";
  for (const onnx::OperatorSetIdProto& import : model.opset_import()) {
    if (import.domain() == kDomain) return;
  }
  onnx::OperatorSetIdProto& import = *model.add_opset_import();
  import.set_domain(kDomain);
  import.set_version(1);
}

}  // namespace

void open_batches(const quant::QuantModel& model, OnnxExportOptions& options) {
  if (model.fixed_batch() != 0) return;
  for (const fx::Node* input : model.module().graph().placeholders()) {
    const auto& info = input->tensor_info();
    if (info && !info->shape.empty() && info->shape[0] > 0)
      options.dynamic_axes[input->target()].emplace(0, "batch");
  }
}

void check_calibrated(const quant::QuantModel& model) {
  for (const quant::QuantPoint& point : model.points()) {
    if (point.quantizer->is_off_for_good()) continue;
    SPARSEBIT_CHECK(point.quantizer->is_calibrated(), InvalidArgument,
                    "not calibrated, so it cannot be exported, ", point.place());
  }
}

/// QuantizeLinear is uniform.
static void check_uniform(const quant::QuantModel& model) {
  for (const quant::QuantPoint& point : model.points()) {
    SPARSEBIT_CHECK(point.quantizer->is_off_for_good() || point.quantizer->has_uniform_steps(),
                    Unsupported, "quantizer type ", point.quantizer->config().quantizer.type,
                    " has non-uniform steps; QuantizeLinear supports uniform steps only, ",
                    point.place());
  }
}

onnx::ModelProto to_onnx(const quant::QuantModel& model, OnnxExportOptions options) {
  check_calibrated(model);
  check_uniform(model);
  open_batches(model, options);
  options.quantized.platform = model.config().platform;
  options.metadata["sparsebit.backend"] = model.platform().name;
  options.metadata["sparsebit.bits"] = bits_of(model);
  if (!model.platform().four_bit_types) options.quantized.four_bit_types = false;
  if (options.quantized.form == QuantizedOnnxOptions::Form::FakeQuantize)
    return to_onnx(*with_clipped_weights(model), options);
  const bool as_operators = options.quantized.form == QuantizedOnnxOptions::Form::Operators;
  constexpr int64_t kOldest = 13;  // per-channel scales, and integer pooling
  SPARSEBIT_CHECK(!as_operators || options.opset >= kOldest, Unsupported,
                  "integer operators need opset ", kOldest, ", not ", options.opset);
  onnx::ModelProto proto = to_onnx(model.module(), options);
  if (as_operators && use_integer_operators(*proto.mutable_graph(), model)) import_microsoft(proto);
  return proto;
}

void export_onnx(const quant::QuantModel& model, const std::filesystem::path& path,
                 const OnnxExportOptions& options) {
  io::save_onnx(to_onnx(model, options), path, options.save);
}

}  // namespace sparsebit::exports
