#include "sparsebit/quant/spec/decision.h"

#include "sparsebit/core/error.h"

#include <array>
#include <utility>

namespace sparsebit::quant {
namespace {

constexpr std::pair<DecisionKind, std::string_view> kNames[] = {
    {DecisionKind::UnknownOperator, "unknown_operator"},
    {DecisionKind::BehindUnknown, "behind_unknown"},
    {DecisionKind::NoIntegerForm, "no_integer_form"},
    {DecisionKind::KeptFloatByPlatform, "kept_float_by_platform"},
    {DecisionKind::ArgumentNotSupported, "argument_not_supported"},
    {DecisionKind::SkippedModule, "skipped_module"},
    {DecisionKind::ExcludedByUser, "excluded_by_user"},
    {DecisionKind::ActivationDisabled, "activation_disabled"},
    {DecisionKind::WeightDisabled, "weight_disabled"},
    {DecisionKind::SumNotRequested, "sum_not_requested"},
    {DecisionKind::WrittenInPlace, "written_in_place"},
    {DecisionKind::WritesInput, "writes_input"},
    {DecisionKind::NotAnActivation, "not_an_activation"},
    {DecisionKind::OneActivation, "one_activation"},
    {DecisionKind::ConstantOperand, "constant_operand"},
    {DecisionKind::AfterLookup, "after_lookup"},
    {DecisionKind::WeightComputed, "weight_computed"},
    {DecisionKind::BiasComputed, "bias_computed"},
    {DecisionKind::BoundsComputed, "bounds_computed"},
    {DecisionKind::ValuesNotFloat, "values_not_float"},
    {DecisionKind::ConstantInputs, "constant_inputs"},
    {DecisionKind::FusedWith, "fused_with"},
    {DecisionKind::InputIsFloat, "input_is_float"},
    {DecisionKind::InputUsedElsewhere, "input_used_elsewhere"},
    {DecisionKind::LayerIsFloat, "layer_is_float"},
    {DecisionKind::FasterAsFloat, "faster_as_float"},
    {DecisionKind::NoIntegerReader, "no_integer_reader"},
    {DecisionKind::NoLayerBranch, "no_layer_branch"},
    {DecisionKind::NothingQuantized, "nothing_quantized"},
    {DecisionKind::InputNotQuantized, "input_not_quantized"},
    {DecisionKind::InputBits, "input_bits"},
    {DecisionKind::InputPerChannel, "input_per_channel"},
    {DecisionKind::WeightIsFloat, "weight_is_float"},
    {DecisionKind::BiasIsFloat, "bias_is_float"},
    {DecisionKind::WeightGroups, "weight_groups"},
    {DecisionKind::WeightBits, "weight_bits"},
    {DecisionKind::ResultNotQuantized, "result_not_quantized"},
    {DecisionKind::ScalesDiffer, "scales_differ"},
    {DecisionKind::ClippingDiffers, "clipping_differs"},
    {DecisionKind::NormWithoutLayer, "norm_without_layer"},
    {DecisionKind::NormOtherChannels, "norm_other_channels"},
    {DecisionKind::NormLayerRead, "norm_layer_read"},
    {DecisionKind::NormScaleFixed, "norm_scale_fixed"},
    {DecisionKind::NormOneScale, "norm_one_scale"},
    {DecisionKind::NormWeightRead, "norm_weight_read"},
    {DecisionKind::NormStatistics, "norm_statistics"},
    {DecisionKind::NormGroups, "norm_groups"},
    {DecisionKind::SwitchedOff, "switched_off"},
};

}  // namespace

bool other_is_node(DecisionKind kind) {
  switch (kind) {
    case DecisionKind::BehindUnknown:
    case DecisionKind::AfterLookup:
    case DecisionKind::FusedWith:
    case DecisionKind::InputIsFloat:
    case DecisionKind::InputUsedElsewhere:
    case DecisionKind::LayerIsFloat:
    case DecisionKind::InputNotQuantized:
    case DecisionKind::InputBits:
    case DecisionKind::InputPerChannel:
    case DecisionKind::ResultNotQuantized:
    case DecisionKind::ScalesDiffer:
    case DecisionKind::NormLayerRead:
      return true;
    default:
      return false;
  }
}

std::string_view to_string(DecisionKind kind) {
  for (const auto& [known, name] : kNames) {
    if (known == kind) return name;
  }
  return "?";
}

DecisionKind decision_kind_from_text(std::string_view text) {
  for (const auto& [kind, name] : kNames) {
    if (name == text) return kind;
  }
  throw Error(ErrorKind::InvalidArgument,
              c10::str("unknown decision kind '", std::string(text), "'"));
}

}  // namespace sparsebit::quant
