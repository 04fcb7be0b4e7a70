#pragma once

#include "sparsebit/core/registry.h"
#include "sparsebit/core/yaml.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// The capabilities of a target runtime or chip, as data. No other code depends on a target's name:
// placement, coverage, export, the certificate and deployment all read a Platform.

namespace sparsebit::platforms {

/// The kind of integer kernel that a target has for an operator.
enum class IntegerForm {
  Layer,     ///< sums of activations times constant weights
  Product,   ///< sums of activations times activations
  Scaling,   ///< integers in, integers of another scale out: addition, averages, lookup tables
  Joining,   ///< concatenates integers of one scale
  Passing,   ///< copies integers: the output has the scale of the input
  Clipping,  ///< removed, because the quantizer after it clips at the same bounds
  Lookup,    ///< reads rows of a quantized table: embedding
};

/// A condition on an argument of a call, without which the target has no integer kernel for the
/// call. Arguments that are absent satisfy it.
struct ArgumentCondition {
  std::string argument;
  std::string value;  ///< as text: "1", "False", "cubic"; for a list, compared with every item
  bool equal = true;  ///< false: the argument must not contain the value

  bool operator==(const ArgumentCondition&) const = default;
};

/// The integer operator that replaces a float ONNX operator between Q/DQ pairs.
struct OnnxForm {
  std::string from;                     ///< "Conv"
  std::string to = {};                  ///< "QLinearConv"; empty: the same operator copies integers
  std::string domain = {};              ///< "com.microsoft"; empty: ONNX's own
  std::vector<std::string> order = {};  ///< of its inputs: "tensors", "bias", "result"
  bool needs_integer_result = true;

  bool operator==(const OnnxForm&) const = default;
};

/// One row of a platform's operator table.
struct OperatorRule {
  IntegerForm form = IntegerForm::Scaling;
  std::vector<std::string> inputs = {};  ///< arguments read as integers; empty: the first one
  /// Whether the integer kernel requires a quantized output.
  bool needs_integer_result = true;
  std::vector<ArgumentCondition> conditions = {};
  std::vector<OnnxForm> onnx = {};  ///< for each ONNX operator that it may be exported as

  // For placement by operator inputs.
  bool joins = false;       ///< quantized only if at least two different activations meet
  bool on_request = false;  ///< quantized only with A.QADD.ENABLE_QUANT
  int64_t bits = 0;         ///< of its activations, overriding the config; 0: the config's
  std::vector<std::string> fused_with = {};  ///< producers it is fused with: no quantizer between
  std::vector<std::string> not_after = {};   ///< stays float if one of these produces an operand
  /// Of a residual sum only the branch that does not end with a layer is quantized: the layer and
  /// the sum are fused.
  bool residual = false;
  bool all_tensors = false;                 ///< stays float if an operand is a number or constant
  std::optional<int64_t> weight_axis = {};  ///< of the scales; default: that of the output channels

  bool operator==(const OperatorRule&) const = default;
};

/// The quantization settings that a target supports for weights or activations.
struct TensorLimits {
  std::vector<int64_t> bits = {};         ///< empty: any
  std::vector<std::string> schemes = {};  ///< the default first; empty: any
  bool groups = true;                     ///< scales per group of inputs
  bool power_of_two = false;              ///< scales have to be powers of two
  std::vector<int64_t> range = {};  ///< {lowest, highest integer}; empty: all integers of the bits
  bool signed_integers = false;     ///< unsigned integers are not supported
  bool full_range = false;          ///< all integers of the bits are used: the integer type clips
  std::vector<std::string> unsupported_quantizers = {};  ///< values of QUANTIZER.TYPE

  bool operator==(const TensorLimits&) const = default;
};

/// How biases are stored.
enum class BiasRule {
  Float,
  Int32,      ///< with input scale * weight scale
  Quantized,  ///< like a weight, with its own scale
};

/// Where quantizers are placed.
struct PlacementPolicy {
  enum class Kind {
    OperatorInputs,  ///< at the inputs (and outputs) of the operators of the table
    IntegerRegions,  ///< around connected regions that the target computes with integers
  };
  enum class GraphOutputs { Follow, Float, Quantized };
  /// The consumers that read the quantized value of a tensor.
  enum class Readers {
    Quantized,  ///< only operators that need quantized inputs
    All,        ///< all, because ranges belong to tensors
  };

  Kind kind = Kind::OperatorInputs;
  bool inputs = true;    ///< inputs of the operators are quantized
  bool outputs = false;  ///< outputs of the operators are quantized
  /// The output quantizer of an operator is placed after these, if they consume the output.
  std::vector<std::string> pass_through = {};
  std::vector<std::string> fuses = {};  ///< activation functions fused with the layer before them
  std::vector<std::string> transparent = {};  ///< quantizers move from their output to their inputs
  /// Their outputs keep the scale of their input: a layer after them needs no quantizer.
  std::vector<std::string> keeps_grid = {};
  bool graph_inputs = false;  ///< every input of the model is quantized
  GraphOutputs graph_outputs = GraphOutputs::Follow;
  Readers readers = Readers::Quantized;
  int64_t first_and_last_bits = 0;               ///< of the first and last layers; 0: as all others
  std::vector<std::string> unsigned_after = {};  ///< their outputs are never negative: unsigned
  /// Their outputs are unsigned if all their inputs are.
  std::vector<std::string> unsigned_follows = {};

  bool operator==(const PlacementPolicy&) const = default;
};

/// Time of a kernel, in nanoseconds.
struct KernelTime {
  double per_mac = 0;
  double per_element = 0;  ///< of its output, or of its input if that is larger

  bool operator==(const KernelTime&) const = default;
};

/// Measured times of a kernel of the target in float and with integers.
struct KernelCost {
  KernelTime as_float = {}, as_integer = {};
  /// Additional nanoseconds per element if the kernel is float and its output is quantized: the
  /// target then quantizes before it and has no fast kernel for this case.
  double before_quantize = 0;

  bool operator==(const KernelCost&) const = default;
};

/// Kernel times with which placement keeps operators in float that integers would make slower.
struct KernelCosts {
  std::map<std::string, KernelCost> kernels = {};  ///< see quant/placement/kernel_times.h
  double quantize = 0, dequantize = 0;             ///< nanoseconds per element
  /// In nanoseconds. The times are not applied to networks that take less in float: launching
  /// kernels, which is not counted, dominates their time.
  double shortest_network = 0;

  bool operator==(const KernelCosts&) const = default;
};

/// A deployment target.
struct Platform {
  std::string name;
  std::string summary = {};
  std::string config = {};  ///< the default qconfig, as YAML
  TensorLimits weights = {};
  TensorLimits activations = {};
  BiasRule bias = BiasRule::Float;
  PlacementPolicy placement = {};
  /// By canonical name, see fx::Operator::row().
  std::map<std::string, OperatorRule> operators = {};
  std::map<std::string, std::string> floats = {};  ///< operators kept in float, and why
  KernelCosts costs = {};                          ///< without kernels, speed is not considered
  std::string scale_fit = {};              ///< name of the adjustment of scales after calibration
  std::vector<std::string> lowering = {};  ///< graph rewrites before placement, by name
  std::string float_kernels = {};          ///< float kernels of the simulation; empty: libtorch's
  /// Its files run in ONNX Runtime: the certificate checks ONNX Runtime's integer kernels.
  bool runs_in_onnxruntime = false;
  bool exact_sums = false;         ///< with its scales, integer sums are exact in float32 as well
  bool four_bit_types = true;      ///< INT4 and UINT4 in ONNX files
  bool integer_operators = false;  ///< can be exported in QOperator form
  std::vector<std::string> artefacts = {};  ///< files that `sparsebit deploy` writes
  std::string text = {};                    ///< the YAML from which it was read

  bool operator==(const Platform&) const = default;
};

using PlatformPtr = std::shared_ptr<const Platform>;

/// Reads a platform from YAML. Throws InvalidArgument, naming file, line and key, for unknown and
/// missing keys. `based_on: NAME` starts from a built-in platform; operators are merged by name,
/// and `OPERATOR: none` removes one.
PlatformPtr parse_platform(std::string_view text, const std::string& name_of_text);

/// The built-in platforms and those added by the user. Add your own before the first model is
/// quantized.
Registry<PlatformPtr>& platforms();

/// A platform by name or from a YAML file. Throws InvalidArgument, listing the known names.
PlatformPtr find_platform(const std::string& name_or_file);

std::string_view to_string(IntegerForm form);

}  // namespace sparsebit::platforms
