#pragma once

#include "sparsebit/export/onnx.h"
#include "sparsebit/quant/quant_model.h"

#include <filesystem>

namespace sparsebit::exports {

/// A calibrated model as ONNX: each quantizer of its graph is a pair of QuantizeLinear and
/// DequantizeLinear, weights are stored as integers, and what rounding cuts off anyway is left out.
/// Bits stand in the doc
/// strings of the nodes and in the metadata `sparsebit.bits`. The model is not changed.
///
/// Throws InvalidArgument, naming the point, when one was never calibrated, and Unsupported where
/// the opset has no form for it.
onnx::ModelProto to_onnx(const quant::QuantModel& model, OnnxExportOptions options = {});

/// Throws InvalidArgument, naming the point, when one was never calibrated.
void check_calibrated(const quant::QuantModel& model);

/// Leaves the number of samples open, unless the model's file fixes it: an example is one sample,
/// and the file takes any number of them.
void open_batches(const quant::QuantModel& model, OnnxExportOptions& options);

/// to_onnx() into a file.
void export_onnx(const quant::QuantModel& model, const std::filesystem::path& path,
                 const OnnxExportOptions& options = {});

}  // namespace sparsebit::exports
