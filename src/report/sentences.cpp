#include "sparsebit/report/sentences.h"

#include <fmt/format.h>

#include <array>

namespace sparsebit::report {
namespace {

using quant::DecisionKind;

/// In texts {0} is `decision.other` in quotes and {1} the platform.
struct KindText {
  DecisionKind kind;
  const char* text;
  const char* summary = nullptr;  ///< without `decision.other`; nullptr: the same
};

constexpr auto kTexts = std::to_array<KindText>({
    {DecisionKind::UnknownOperator, "unknown operator"},
    {DecisionKind::BehindUnknown, "it depends on {0}, an unknown operator",
     "it depends on an unknown operator"},
    {DecisionKind::NoIntegerForm, "{1} has no integer form of {0}"},
    {DecisionKind::KeptFloatByPlatform, "{1} keeps it in float"},
    {DecisionKind::ArgumentNotSupported, "no integer form for this value of its argument {0}"},
    {DecisionKind::SkippedModule, "SKIP_TRACE_MODULES names its module"},
    {DecisionKind::ExcludedByUser, "excluded by the user"},
    {DecisionKind::ActivationDisabled, "A.QUANTIZER.DISABLE"},
    {DecisionKind::WeightDisabled, "W.QUANTIZER.DISABLE"},
    {DecisionKind::SumNotRequested, "A.QADD.ENABLE_QUANT is off"},
    {DecisionKind::WrittenInPlace, "its memory is modified in place"},
    {DecisionKind::WritesInput, "it modifies its input in place"},
    {DecisionKind::NotAnActivation, "its argument {0} is not an activation"},
    {DecisionKind::OneActivation, "only one of its operands is an activation"},
    {DecisionKind::ConstantOperand, "one of its operands is a constant"},
    {DecisionKind::AfterLookup, "{0} comes from an embedding",
     "an operand comes from an embedding"},
    {DecisionKind::WeightComputed, "its weight is computed, not constant"},
    {DecisionKind::BiasComputed, "its bias is computed, not constant"},
    {DecisionKind::BoundsComputed, "its bounds are computed, not constant"},
    {DecisionKind::ValuesNotFloat, "its values are not floating-point numbers"},
    {DecisionKind::ConstantInputs, "its inputs are constants"},
    {DecisionKind::FusedWith, "fused with {0}", "fused with the operator before it"},
    {DecisionKind::InputIsFloat, "its input {0} is float", "its input is float"},
    {DecisionKind::InputUsedElsewhere, "its input {0} has other consumers",
     "its input has other consumers"},
    {DecisionKind::LayerIsFloat, "its layer {0} is float", "its layer is float"},
    {DecisionKind::FasterAsFloat, "int8 would be slower (SCHEDULE.FLOAT_WHERE_FASTER)"},
    {DecisionKind::NoIntegerReader, "no integer consumer downstream"},
    {DecisionKind::NoLayerBranch, "neither branch of the sum ends with a layer"},
    {DecisionKind::NothingQuantized, "it has no activations to quantize"},
    {DecisionKind::InputNotQuantized, "its input {0} is not quantized",
     "its input is not quantized"},
    {DecisionKind::InputBits, "its input {0} has too many bits", "its input has too many bits"},
    {DecisionKind::InputPerChannel, "its input {0} has per-channel scales",
     "its input has per-channel scales"},
    {DecisionKind::WeightIsFloat, "its weight is float"},
    {DecisionKind::BiasIsFloat, "its bias is float"},
    {DecisionKind::WeightGroups, "its weight has scales per group"},
    {DecisionKind::WeightBits, "its weight has too many bits"},
    {DecisionKind::ResultNotQuantized, "its output goes to {0} without being quantized",
     "its output goes to a consumer without being quantized"},
    {DecisionKind::ScalesDiffer, "its input and {0} have different scales",
     "its input and its output have different scales"},
    {DecisionKind::ClippingDiffers, "the quantizer after it does not clip at the same bounds"},
    {DecisionKind::NormWithoutLayer, "its producer is not a layer with a quantized weight"},
    {DecisionKind::NormOtherChannels, "it does not normalize the channels of the layer before it"},
    {DecisionKind::NormLayerRead, "{0} has other consumers", "its layer has other consumers"},
    {DecisionKind::NormScaleFixed, "the type of its layer's quantizer does not allow rescaling"},
    {DecisionKind::NormOneScale, "its layer's weight has one scale for all channels"},
    {DecisionKind::NormWeightRead, "the weight {0} has other consumers",
     "the weight of its layer has other consumers"},
    {DecisionKind::NormStatistics, "its statistics are not constants"},
    {DecisionKind::NormGroups, "the channels of its layer's weight are in groups"},
    {DecisionKind::SwitchedOff, "switched off"},
});

constexpr bool has_each_kind_in_order() {
  for (size_t i = 0; i < kTexts.size(); ++i) {
    if (kTexts[i].kind != static_cast<DecisionKind>(i)) return false;
  }
  return kTexts.back().kind == DecisionKind::SwitchedOff;  // the last kind
}
static_assert(has_each_kind_in_order());

std::string text_of(const quant::Decision& decision, const platforms::Platform& platform,
                    bool is_summary) {
  if (decision.kind == DecisionKind::SwitchedOff) return decision.other;  // the caller's reason
  if (decision.kind == DecisionKind::KeptFloatByPlatform) {
    const auto reason = platform.floats.find(decision.other);
    if (reason != platform.floats.end()) return reason->second;
  }
  const KindText& texts = kTexts[static_cast<size_t>(decision.kind)];
  const bool uses_summary = texts.summary && (is_summary || decision.other.empty());
  return fmt::format(fmt::runtime(uses_summary ? texts.summary : texts.text),
                     "'" + decision.other + "'", platform.name);
}

}  // namespace

std::string sentence(const quant::Decision& decision, const platforms::Platform& platform) {
  return text_of(decision, platform, /*is_summary=*/false);
}

std::string summary_of(const quant::Decision& decision, const platforms::Platform& platform) {
  return text_of(decision, platform, /*is_summary=*/true);
}

}  // namespace sparsebit::report
