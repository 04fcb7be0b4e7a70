#include "sparsebit/report/sentences.h"

namespace sparsebit::report {
namespace {

using quant::DecisionKind;

std::string quoted(const std::string& name) { return "'" + name + "'"; }

/// @param other  the quoted `decision.other`; empty for a summary.
std::string text_of(const quant::Decision& decision, const platforms::Platform& platform,
                    const std::string& other) {
  const auto named = [&](const std::string& before, const char* noun, const char* after) {
    const std::string name = other.empty() ? noun : other;
    return before + (before.empty() || name.empty() ? "" : " ") + name + after;
  };
  switch (decision.kind) {
    case DecisionKind::UnknownOperator:
      return "unknown operator";
    case DecisionKind::BehindUnknown:
      return other.empty() ? "it depends on an unknown operator"
                           : "it depends on " + other + ", an unknown operator";
    case DecisionKind::NoIntegerForm:
      return platform.name + " has no integer form of " + quoted(decision.other);
    case DecisionKind::KeptFloatByPlatform: {
      const auto it = platform.floats.find(decision.other);
      return it == platform.floats.end() ? platform.name + " keeps it in float" : it->second;
    }
    case DecisionKind::ArgumentNotSupported:
      return "no integer form for this value of its argument " + quoted(decision.other);
    case DecisionKind::SkippedModule:
      return "SKIP_TRACE_MODULES names its module";
    case DecisionKind::ExcludedByUser:
      return "excluded by the user";
    case DecisionKind::ActivationDisabled:
      return "A.QUANTIZER.DISABLE";
    case DecisionKind::WeightDisabled:
      return "W.QUANTIZER.DISABLE";
    case DecisionKind::SumNotRequested:
      return "A.QADD.ENABLE_QUANT is off";
    case DecisionKind::WrittenInPlace:
      return "its memory is modified in place";
    case DecisionKind::WritesInput:
      return "it modifies its input in place";
    case DecisionKind::NotAnActivation:
      return "its argument " + quoted(decision.other) + " is not an activation";
    case DecisionKind::OneActivation:
      return "only one of its operands is an activation";
    case DecisionKind::ConstantOperand:
      return "one of its operands is a constant";
    case DecisionKind::AfterLookup:
      return named("", "an operand", " comes from an embedding");
    case DecisionKind::WeightComputed:
      return "its weight is computed, not constant";
    case DecisionKind::BiasComputed:
      return "its bias is computed, not constant";
    case DecisionKind::BoundsComputed:
      return "its bounds are computed, not constant";
    case DecisionKind::ValuesNotFloat:
      return "its values are not floating-point numbers";
    case DecisionKind::ConstantInputs:
      return "its inputs are constants";
    case DecisionKind::FusedWith:
      return named("fused with", "the operator before it", "");
    case DecisionKind::InputIsFloat:
      return named("its input", "", " is float");
    case DecisionKind::InputUsedElsewhere:
      return named("its input", "", " has other consumers");
    case DecisionKind::LayerIsFloat:
      return named("its layer", "", " is float");
    case DecisionKind::FasterAsFloat:
      return "int8 would be slower (SCHEDULE.FLOAT_WHERE_FASTER)";
    case DecisionKind::NoIntegerReader:
      return "no integer consumer downstream";
    case DecisionKind::NoLayerBranch:
      return "neither branch of the sum ends with a layer";
    case DecisionKind::NothingQuantized:
      return "it has no activations to quantize";
    case DecisionKind::InputNotQuantized:
      return named("its input", "", " is not quantized");
    case DecisionKind::InputBits:
      return named("its input", "", " has too many bits");
    case DecisionKind::InputPerChannel:
      return named("its input", "", " has per-channel scales");
    case DecisionKind::WeightIsFloat:
      return "its weight is float";
    case DecisionKind::BiasIsFloat:
      return "its bias is float";
    case DecisionKind::WeightGroups:
      return "its weight has scales per group";
    case DecisionKind::WeightBits:
      return "its weight has too many bits";
    case DecisionKind::ResultNotQuantized:
      return named("its output goes to", "a consumer", " without being quantized");
    case DecisionKind::ScalesDiffer:
      return named("its input and", "its output", " have different scales");
    case DecisionKind::ClippingDiffers:
      return "the quantizer after it does not clip at the same bounds";
    case DecisionKind::NormWithoutLayer:
      return "its producer is not a layer with a quantized weight";
    case DecisionKind::NormOtherChannels:
      return "it does not normalize the channels of the layer before it";
    case DecisionKind::NormLayerRead:
      return named("", "its layer", " has other consumers");
    case DecisionKind::NormScaleFixed:
      return "the type of its layer's quantizer does not allow rescaling";
    case DecisionKind::NormOneScale:
      return "its layer's weight has one scale for all channels";
    case DecisionKind::NormWeightRead:
      return named("the weight", "of its layer", " has other consumers");
    case DecisionKind::NormStatistics:
      return "its statistics are not constants";
    case DecisionKind::NormGroups:
      return "the channels of its layer's weight are in groups";
    case DecisionKind::SwitchedOff:
      return decision.other;
  }
  return "";
}

}  // namespace

std::string sentence(const quant::Decision& decision, const platforms::Platform& platform) {
  return text_of(decision, platform, decision.other.empty() ? "" : quoted(decision.other));
}

std::string summary_of(const quant::Decision& decision, const platforms::Platform& platform) {
  return text_of(decision, platform, "");
}

}  // namespace sparsebit::report
