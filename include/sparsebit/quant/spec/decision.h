#pragma once

#include <string>
#include <string_view>

namespace sparsebit::quant {

/// What was decided about a node that stays float, or of which a part does. Sentences for people
/// are made in report/sentences.h; code asks the kind.
enum class DecisionKind {
  // The operator.
  UnknownOperator,       ///< no operator table has it
  BehindUnknown,         ///< it reads a result of `other`, an unknown operator
  NoIntegerForm,         ///< the platform has no row for the operator `other`
  KeptFloatByPlatform,   ///< the platform says why it is better left alone
  ArgumentNotSupported,  ///< there is no integer form for what the argument `other` is
  // The config.
  SkippedModule,       ///< SKIP_TRACE_MODULES names it
  ExcludedByUser,      ///< the user asked for float
  ActivationDisabled,  ///< A.QUANTIZER.DISABLE
  WeightDisabled,      ///< W.QUANTIZER.DISABLE
  SumNotRequested,     ///< A.QADD.ENABLE_QUANT is off
  // What it reads and writes.
  WrittenInPlace,   ///< another node writes to its memory
  WritesInput,      ///< it changes its own input
  NotAnActivation,  ///< its argument `other` is no activation
  OneActivation,    ///< only one of its operands is an activation
  ConstantOperand,  ///< an operand is a number or a constant
  AfterLookup,      ///< its operand `other` comes from an operator that keeps it float
  WeightComputed,   ///< its weight is no constant
  BiasComputed,     ///< its bias is no constant
  BoundsComputed,   ///< the bounds of a clipping are no numbers
  ValuesNotFloat,   ///< its values are no floating point numbers
  ConstantInputs,   ///< nothing it reads depends on the model's inputs
  // What is around it.
  FusedWith,           ///< it runs as one with `other`
  InputIsFloat,        ///< `other`, which it reads, is float
  InputUsedElsewhere,  ///< `other`, which it would run as one with, has other readers
  LayerIsFloat,        ///< a bias of `other`, which computes with floats
  FasterAsFloat,       ///< with integers, it and the conversions around it would take longer
  NoIntegerReader,     ///< nothing that reads it computes with integers
  NoLayerBranch,       ///< neither branch of the sum ends with a layer
  NothingQuantized,    ///< it reads and gives no activations
  // What the target makes of the quantizers in a graph.
  InputNotQuantized,  ///< the input `other`
  InputBits,          ///< the input `other` has more bits than the kernel takes
  InputPerChannel,    ///< the input `other` has a scale for each channel
  WeightIsFloat,
  BiasIsFloat,
  WeightGroups,        ///< a scale for each group
  WeightBits,          ///< more bits than the kernel takes
  ResultNotQuantized,  ///< its result goes to `other` as floats
  ScalesDiffer,        ///< the scales of its input and of `other` differ
  ClippingDiffers,     ///< the rounding behind it does not cut off the same
  // Batch norms that could not be folded after tuning.
  NormWithoutLayer,   ///< no layer with a quantized weight before it
  NormOtherChannels,  ///< it does not normalize the channels of the layer
  NormLayerRead,      ///< `other`, the layer, has other readers
  NormScaleFixed,     ///< the layer's quantizer changes what scales mean
  NormOneScale,       ///< the layer's weight has one scale for all channels
  NormWeightRead,     ///< `other`, the weight, has other readers
  NormStatistics,     ///< its statistics are no constants
  NormGroups,         ///< channels are in groups
  // A quantizer that a caller switched off, with the caller's own words.
  SwitchedOff,
};

struct Decision {
  DecisionKind kind;
  std::string node;
  std::string other = {};  ///< node, argument, operator or words, as the kind says

  bool operator==(const Decision&) const = default;
};

/// Whether `other` of such a decision is a node.
bool other_is_node(DecisionKind kind);

/// "unknown_operator": for files and tools.
std::string_view to_string(DecisionKind kind);
/// The opposite. Throws InvalidArgument.
DecisionKind decision_kind_from_text(std::string_view text);

}  // namespace sparsebit::quant
