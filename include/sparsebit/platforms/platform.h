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

// What a target runtime or chip can do, as data. Nothing else in the project knows a target by
// name: placement, coverage, export, the certificate and deployment all read a Platform.

namespace sparsebit::platforms {

/// How a target computes an operator with integers.
enum class IntegerForm {
  Layer,    ///< sums of activations times constant weights
  Product,  ///< sums of activations times activations
  Scaling,  ///< integers in, integers of another scale out: addition, averages, tables of functions
  Joining,  ///< puts integers of one scale beside each other
  Passing,  ///< copies integers, so that the result has the scale of the input
  Clipping,  ///< what the rounding behind it does anyway, so that nothing is left to compute
  Lookup,    ///< reads rows of a quantized table: embedding
};

/// What an argument of a call has to be for the integer form to exist. Absent arguments fit.
struct ArgumentCondition {
  std::string argument;
  std::string value;  ///< as text, "1", "False", "cubic"; of a list, every item
  bool equal = true;  ///< false: it must not contain the value

  bool operator==(const ArgumentCondition&) const = default;
};

/// The integer operator that replaces a float operator of ONNX between Q/DQ pairs.
struct OnnxForm {
  std::string from;                     ///< "Conv"
  std::string to = {};                  ///< "QLinearConv"; empty: the same operator copies integers
  std::string domain = {};              ///< "com.microsoft"; empty: ONNX's own
  std::vector<std::string> order = {};  ///< of its inputs: tensors, bias, result
  bool needs_integer_result = true;

  bool operator==(const OnnxForm&) const = default;
};

/// One row of a platform's operator table.
struct OperatorRule {
  IntegerForm form = IntegerForm::Scaling;
  std::vector<std::string> inputs = {};  ///< arguments read as integers; empty: the first one
  /// Whether it computes with integers only if its result is integers as well.
  bool needs_integer_result = true;
  std::vector<ArgumentCondition> conditions = {};
  std::vector<OnnxForm> onnx = {};  ///< of each ONNX operator that it is written as

  // For placement by operator inputs.
  bool joins = false;       ///< quantized only if at least two different activations meet
  bool on_request = false;  ///< quantized only with A.QADD.ENABLE_QUANT
  int64_t bits = 0;         ///< of its activations, whatever the config says; 0: as it says
  std::vector<std::string> fused_with = {};  ///< producers it runs as one with: no point in between
  std::vector<std::string> not_after = {};   ///< stays float if one of these gives an operand
  /// Of a residual sum only the branch that no layer ends is quantized: layer and sum run as one.
  bool residual = false;
  bool all_tensors = false;                 ///< stays float if an operand is a number or constant
  std::optional<int64_t> weight_axis = {};  ///< of the scales, if not the output channels'

  bool operator==(const OperatorRule&) const = default;
};

/// What quantized tensors of one kind may be.
struct TensorLimits {
  std::vector<int64_t> bits = {};         ///< empty: any
  std::vector<std::string> schemes = {};  ///< the usual one first; empty: any
  bool groups = true;                     ///< scales per group of inputs
  bool power_of_two = false;              ///< scales have to be powers of two
  std::vector<int64_t> range = {};  ///< the lowest and highest integer; empty: all of the bits
  bool signed_integers = false;     ///< there are no unsigned ones
  bool full_range = false;  ///< all integers of the bits are used, so that the type itself clips
  std::vector<std::string> unsupported_quantizers = {};  ///< QUANTIZER.TYPE it has no integers for

  bool operator==(const TensorLimits&) const = default;
};

/// How biases are stored.
enum class BiasRule {
  Float,
  Int32,      ///< with the scale of input times weight
  Quantized,  ///< like a weight, with one scale of its own
};

/// Where quantization points sit.
struct PlacementPolicy {
  enum class Kind {
    OperatorInputs,  ///< at the inputs (and outputs) of the operators of the table
    IntegerRegions,  ///< around connected regions that the target computes with integers
  };
  enum class GraphOutputs { Follow, Float, Quantized };
  enum class Readers {
    Quantized,  ///< only operators that asked for it read the quantized value
    All,        ///< a range belongs to the tensor, so everything that reads it sees it quantized
  };

  Kind kind = Kind::OperatorInputs;
  bool inputs = true;                          ///< inputs of the operators are quantized
  bool outputs = false;                        ///< their results as well
  std::vector<std::string> pass_through = {};  ///< behind an operator, these take its output point
  std::vector<std::string> fuses = {};  ///< activations computed together with the layer before
  std::vector<std::string> transparent = {};  ///< points move from behind these to their inputs
  /// Their results stay on the grid of their input, so that a layer behind them needs no new point.
  std::vector<std::string> keeps_grid = {};
  bool graph_inputs = false;  ///< every input of the model is quantized
  GraphOutputs graph_outputs = GraphOutputs::Follow;
  Readers readers = Readers::Quantized;
  int64_t first_and_last_bits = 0;               ///< of the first and last layers; 0: as all others
  std::vector<std::string> unsigned_after = {};  ///< their results are never negative: unsigned
  /// Their results are unsigned if everything they are made of is.
  std::vector<std::string> unsigned_follows = {};

  bool operator==(const PlacementPolicy&) const = default;
};

/// Time of a kernel, in nanoseconds.
struct KernelTime {
  double per_mac = 0;
  double per_element = 0;  ///< of its result, or of its input if that is larger

  bool operator==(const KernelTime&) const = default;
};

/// A kernel of the target in both arithmetics, as measured.
struct KernelCost {
  KernelTime as_float = {}, as_integer = {};
  /// Nanoseconds per element more when it is float and its result is quantized: the target then
  /// quantizes first, and has no fast kernel for that.
  double before_quantize = 0;

  bool operator==(const KernelCost&) const = default;
};

/// What placement has to know to leave in float what integers would make slower.
struct KernelCosts {
  std::map<std::string, KernelCost> kernels = {};  ///< see quant/placement/kernel_times.h
  double quantize = 0, dequantize = 0;             ///< nanoseconds per element
  /// Nanoseconds. What a shorter network takes is the starting of kernels, which is not counted.
  double shortest_network = 0;

  bool operator==(const KernelCosts&) const = default;
};

/// A deployment target.
struct Platform {
  std::string name;
  std::string summary = {};
  std::string config = {};  ///< the qconfig that applies unless the user changes it, as YAML
  TensorLimits weights = {};
  TensorLimits activations = {};
  BiasRule bias = BiasRule::Float;
  PlacementPolicy placement = {};
  std::map<std::string, OperatorRule> operators = {};  ///< by canonical name, see fx::Operator::row
  std::map<std::string, std::string> floats = {};      ///< operators better left in float, and why
  KernelCosts costs = {};                              ///< no kernels: speed is not considered
  std::string scale_fit = {};              ///< how scales are adjusted after calibration
  std::vector<std::string> lowering = {};  ///< rewrites before placement
  std::string float_kernels =
      {};  ///< whose float arithmetic the simulation uses; empty: libtorch's
  /// Its files run in ONNX Runtime, so that a certificate judges the integer kernels there.
  bool runs_in_onnxruntime = false;
  bool exact_sums = false;     ///< with its scales, sums of products are exact in float32 as well
  bool four_bit_types = true;  ///< INT4 and UINT4 in ONNX files
  bool integer_operators = false;           ///< the QOperator form can be written
  std::vector<std::string> artefacts = {};  ///< what `sparsebit deploy` writes
  std::string text = {};                    ///< the YAML that it was read from

  bool operator==(const Platform&) const = default;
};

using PlatformPtr = std::shared_ptr<const Platform>;

/// Reads a description. Throws InvalidArgument, naming file, line and key, for what is unknown or
/// missing. `based_on: NAME` starts from a built-in platform; operators are merged by name, and
/// `OPERATOR: none` removes one.
PlatformPtr parse_platform(std::string_view text, const std::string& name_of_text);

/// The built-in platforms, and those that were added. Add your own before the first model.
Registry<PlatformPtr>& platforms();

/// A platform by name, or the one in a YAML file. Throws InvalidArgument with the known names.
PlatformPtr find_platform(const std::string& name_or_file);

std::string_view to_string(IntegerForm form);

}  // namespace sparsebit::platforms
