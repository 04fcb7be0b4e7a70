#pragma once

#include "sparsebit/export/onnx.h"
#include "sparsebit/quant/quant_model.h"

#include <filesystem>

namespace sparsebit::exports {

/// A calibrated model as ONNX: each quantizer of its graph becomes a
/// QuantizeLinear/DequantizeLinear pair, weights are stored as integers, and a relu or clamp is
/// omitted where the next QuantizeLinear clips at the same bounds. Bit widths are in the nodes' doc
/// strings and in the metadata entry `sparsebit.bits`. The model is not changed.
///
/// Throws InvalidArgument, naming the quantizer's place, when one is not calibrated, and
/// Unsupported when the opset cannot represent it.
onnx::ModelProto to_onnx(const quant::QuantModel& model, OnnxExportOptions options = {});

/// Throws InvalidArgument, naming the place, when a quantizer is not calibrated.
void check_calibrated(const quant::QuantModel& model);

/// Makes the batch dimension of all inputs dynamic, unless the model has a fixed batch size. The
/// example inputs, from which sizes are recorded, are one sample each.
void open_batches(const quant::QuantModel& model, OnnxExportOptions& options);

/// to_onnx() into a file.
void export_onnx(const quant::QuantModel& model, const std::filesystem::path& path,
                 const OnnxExportOptions& options = {});

}  // namespace sparsebit::exports
