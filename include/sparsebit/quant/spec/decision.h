#pragma once

#include <string>
#include <string_view>

namespace sparsebit::quant {

/// Why a node, or a part of it, stays float. report/sentences.h turns a decision into text;
/// programs use the kind.
enum class DecisionKind {
  // The operator.
  UnknownOperator,       ///< no operator table has it
  BehindUnknown,         ///< it reads a result of `other`, an unknown operator
  NoIntegerForm,         ///< the platform has no row for the operator `other`
  KeptFloatByPlatform,   ///< the platform's `floats` has the reason
  ArgumentNotSupported,  ///< no integer form for this value of the argument `other`
  // The config.
  SkippedModule,       ///< SKIP_TRACE_MODULES names it
  ExcludedByUser,      ///< the user asked for float
  ActivationDisabled,  ///< A.QUANTIZER.DISABLE
  WeightDisabled,      ///< W.QUANTIZER.DISABLE
  SumNotRequested,     ///< A.QADD.ENABLE_QUANT is off
  // Its inputs and outputs.
  WrittenInPlace,   ///< its memory is modified in place
  WritesInput,      ///< it modifies its own input
  NotAnActivation,  ///< its argument `other` is not an activation
  OneActivation,    ///< only one of its operands is an activation
  ConstantOperand,  ///< an operand is a number or a constant
  AfterLookup,      ///< its operand `other` comes from an operator that keeps it float
  WeightComputed,   ///< its weight is computed, not constant
  BiasComputed,     ///< its bias is computed, not constant
  BoundsComputed,   ///< the bounds of its clipping are computed, not constant
  ValuesNotFloat,   ///< its values are not floating-point numbers
  ConstantInputs,   ///< none of its inputs depends on the model's inputs
  // Its neighbours.
  FusedWith,           ///< it is fused with `other`
  InputIsFloat,        ///< its input `other` is float
  InputUsedElsewhere,  ///< its input `other`, with which it would be fused, has other consumers
  LayerIsFloat,        ///< a bias of the layer `other`, which is float
  FasterAsFloat,       ///< integers, including the Q/DQ conversions, would take longer
  NoIntegerReader,     ///< no integer consumer downstream
  NoLayerBranch,       ///< neither branch of the sum ends with a layer
  NothingQuantized,    ///< its inputs and outputs are not activations
  // Found by coverage in the graph with quantizers.
  InputNotQuantized,  ///< the input `other`
  InputBits,          ///< the input `other` has more bits than the kernel takes
  InputPerChannel,    ///< the input `other` has per-channel scales
  WeightIsFloat,
  BiasIsFloat,
  WeightGroups,        ///< scales per group
  WeightBits,          ///< more bits than the kernel takes
  ResultNotQuantized,  ///< its output goes to `other` in float
  ScalesDiffer,        ///< the scales of its input and of `other` differ
  ClippingDiffers,     ///< the quantizer after it does not clip at the same bounds
  // Batch norms that could not be folded after tuning.
  NormWithoutLayer,   ///< no layer with a quantized weight before it
  NormOtherChannels,  ///< it does not normalize the channels of the layer
  NormLayerRead,      ///< `other`, the layer, has other consumers
  NormScaleFixed,     ///< the type of the layer's quantizer does not allow rescaling
  NormOneScale,       ///< the layer's weight has one scale for all channels
  NormWeightRead,     ///< `other`, the weight, has other consumers
  NormStatistics,     ///< its statistics are not constants
  NormGroups,         ///< the channels of the layer's weight are in groups
  // A quantizer switched off by a caller; `other` is the caller's reason.
  SwitchedOff,
};

struct Decision {
  DecisionKind kind;
  std::string node;
  std::string other = {};  ///< node, argument, operator or text, depending on the kind

  bool operator==(const Decision&) const = default;
};

/// Whether `other` of decisions of this kind is a node name.
bool other_is_node(DecisionKind kind);

/// "unknown_operator": for files and tools.
std::string_view to_string(DecisionKind kind);
/// The inverse of to_string(). Throws InvalidArgument.
DecisionKind decision_kind_from_text(std::string_view text);

}  // namespace sparsebit::quant
