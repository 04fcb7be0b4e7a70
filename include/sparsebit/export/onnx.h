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
    Operators,    ///< QLinearConv and the like, some of which only ONNX Runtime has (QOperator)
    FakeQuantize  ///< OpenVINO's operator of this name; weights stay float
  };
  Form form = Form::Pairs;
  /// What the file is for.
  platforms::PlatformPtr platform = platforms::find_platform("virtual");
  /// Weights of 4 bits as INT4 and UINT4, from opset 21 on and if the platform has them; otherwise
  /// as 8 bits.
  bool four_bit_types = true;
  /// An attribute `bits` at each pair, which ONNX Runtime refuses to read.
  bool bits_attribute = false;
};

struct OnnxExportOptions {
  int64_t opset = 13;
  /// Example inputs, one per placeholder. May stay empty when every placeholder carries its
  /// TensorInfo, as those of imported files do.
  std::vector<fx::Value> inputs = {};
  /// Sizes that stay open, by input name and dimension: {{"x", {{0, "batch"}}}}. Added to what the
  /// placeholders' TensorInfo leaves open. Dimensions with the same symbol have the same size.
  std::map<std::string, std::map<int64_t, std::string>> dynamic_axes = {};
  /// Names of the results; empty means GraphModule::output_names(), else the nodes' names.
  std::vector<std::string> output_names = {};
  io::OnnxSaveOptions save = {};
  QuantizedOnnxOptions quantized = {};
  /// Notes in the file, by key.
  std::map<std::string, std::string> metadata = {};
};

/// The model as ONNX. Inputs have the placeholders' names, nodes and values those of the graph's
/// nodes, weights their dotted paths; a tensor that is used several times is stored once. Batch
/// norm, dropout and the like are written as they work in eval mode. The same graph gives the same
/// message, bit for bit. The model is not changed.
///
/// Throws Unsupported, naming the node, where the graph cannot be written.
onnx::ModelProto to_onnx(const fx::GraphModule& module, const OnnxExportOptions& options = {});

/// A model as ONNX, and what the results of its nodes are called in it.
struct NamedOnnx {
  onnx::ModelProto model;
  std::map<std::string, std::string> tensors;  ///< by node name, of results that are tensors
};

/// As to_onnx().
NamedOnnx to_named_onnx(const fx::GraphModule& module, const OnnxExportOptions& options = {});

/// to_onnx() into a file; weights go to a second file beside it when it would be too large.
void export_onnx(const fx::GraphModule& module, const std::filesystem::path& path,
                 const OnnxExportOptions& options = {});

/// Operators of the vocabulary that have no ONNX form, with the reason.
const std::map<std::string, std::string>& operators_without_onnx_form();

/// Whether an operator, by canonical name, can be written.
bool has_onnx_form(const std::string& operator_name);

}  // namespace sparsebit::exports
