#pragma once

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/io/onnx_file.h"
#include "sparsebit/io/onnx_proto.h"
#include "sparsebit/platforms/platform.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace sparsebit::exports {

/// The opsets that can be written.
inline constexpr int64_t kOldestOpset = 11;
inline constexpr int64_t kNewestOpset = 21;

/// How quantizers of a graph are written, see to_onnx(const quant::QuantModel&).
struct QuantizedOnnxOptions {
  enum class Form {
    Pairs,        ///< QuantizeLinear and DequantizeLinear around float operators (QDQ)
    Operators,    ///< QLinearConv etc. (QOperator), some of them only in ONNX Runtime
    FakeQuantize  ///< OpenVINO's FakeQuantize; weights stay float
  };
  Form form = Form::Pairs;
  /// The platform that runs the file.
  platforms::PlatformPtr platform = platforms::find_platform("virtual");
  /// Store 4-bit weights as INT4 or UINT4 from opset 21 on, if the platform has them; otherwise as
  /// 8 bits.
  bool four_bit_types = true;
  /// Write an attribute `bits` at each Q/DQ pair. ONNX Runtime rejects such files.
  bool bits_attribute = false;
};

struct OnnxExportOptions {
  int64_t opset = 13;
  /// Example inputs, one per placeholder. May stay empty when every placeholder carries its
  /// TensorInfo, as those of imported files do.
  std::vector<fx::Value> inputs = {};
  /// Dynamic dimensions, by input name and dimension: {{"x", {{0, "batch"}}}}. Added to those of
  /// the placeholders' TensorInfo. Dimensions with the same symbol have the same size.
  std::map<std::string, std::map<int64_t, std::string>> dynamic_axes = {};
  /// Names of the results; empty means GraphModule::output_names(), else the nodes' names.
  std::vector<std::string> output_names = {};
  io::OnnxSaveOptions save = {};
  QuantizedOnnxOptions quantized = {};
  /// Entries of the file's metadata_props, by key.
  std::map<std::string, std::string> metadata = {};
};

/// The model as ONNX. Inputs have the placeholders' names, nodes and values those of the graph's
/// nodes, weights their dotted paths; a tensor that is used several times is stored once. Batch
/// norm, dropout and the like are written as they work in eval mode. The same graph gives the same
/// message, bit for bit. The model is not changed.
///
/// Throws Unsupported, naming the node, when a node cannot be exported.
onnx::ModelProto to_onnx(const fx::GraphModule& module, const OnnxExportOptions& options = {});

/// A model as ONNX, and the names that the nodes' results have in it.
struct NamedOnnx {
  onnx::ModelProto model;
  std::map<std::string, std::string> tensors;  ///< tensor name by node name
};

/// Like to_onnx(), with the tensor names.
NamedOnnx to_named_onnx(const fx::GraphModule& module, const OnnxExportOptions& options = {});

/// to_onnx() into a file; weights go to an external data file when it would be too large.
void export_onnx(const fx::GraphModule& module, const std::filesystem::path& path,
                 const OnnxExportOptions& options = {});

/// Operators of the vocabulary that have no ONNX form, with the reason.
const std::map<std::string, std::string>& operators_without_onnx_form();

/// Whether an operator, by canonical name, can be written.
bool has_onnx_form(const std::string& operator_name);

}  // namespace sparsebit::exports
