#include "quant/config/platform_check.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/core/near_match.h"
#include "sparsebit/fx/ops/operator.h"
#include "sparsebit/quant/quantizers/quantizer.h"
#include "sparsebit/quant/spec/quant_spec.h"

namespace sparsebit::quant {
namespace {

void check_operator(const std::string& name, const std::string& platform, const char* key) {
  if (fx::operators().find_operator(name)) return;
  std::vector<std::string> known;
  for (const fx::Operator* op : fx::operators().all()) known.push_back(op->name);
  throw Error(ErrorKind::InvalidArgument,
              c10::str("platform ", platform, ": ", key, ": unknown operator '", name, "'",
                       did_you_mean(name, known)));
}

void check_bits(int64_t bits, const std::string& key, const std::string& platform) {
  SPARSEBIT_CHECK(bits >= kLeastBits && bits <= kMostBits, InvalidArgument, "platform ", platform,
                  ": ", key, ": expected ", kLeastBits, " to ", kMostBits, " bits, found ", bits);
}

void check_limits(const platforms::TensorLimits& limits, const std::string& key,
                  const std::string& platform) {
  for (const int64_t bits : limits.bits) check_bits(bits, key + ".bits", platform);
  with_context(
      [&] {
        for (const std::string& scheme : limits.schemes) scheme_from_text(scheme);
        for (const std::string& type : limits.unsupported_quantizers) quantizers().get(type);
      },
      [&] { return "in platform " + platform + ": " + key; });
}

/// Settings that require, or exclude, placement.policy integer_regions.
void check_regions(const platforms::Platform& platform) {
  const bool regions = platform.placement.kind == platforms::PlacementPolicy::Kind::IntegerRegions;
  SPARSEBIT_CHECK(regions || !platform.integer_operators, InvalidArgument, "platform ",
                  platform.name, ": integer_operators: needs placement.policy integer_regions");
  for (const auto& [name, rule] : platform.operators) {
    SPARSEBIT_CHECK(!regions || rule.form != platforms::IntegerForm::Lookup, InvalidArgument,
                    "platform ", platform.name, ": operators.", name,
                    ".form: lookup is not supported with placement.policy integer_regions");
  }
}

/// Checks that the weight and the arguments named by a rule exist for the operator.
void check_rule(const std::string& name, const platforms::OperatorRule& rule,
                const std::string& platform) {
  const fx::Operator& op = *fx::operators().find_operator(name);
  const std::string where = "platform " + platform + ": operators." + name;
  const bool needs_weight =
      rule.form == platforms::IntegerForm::Layer || rule.form == platforms::IntegerForm::Lookup;
  SPARSEBIT_CHECK(!needs_weight || op.weight, InvalidArgument, where, ".form: '", name,
                  "' has no weight, which layer and lookup need");
  const auto check_argument = [&](const std::string& argument, const char* key) {
    SPARSEBIT_CHECK(op.schema.find(argument), InvalidArgument, where, ".", key, ": '", name,
                    "' has no argument '", argument, "'");
  };
  for (const std::string& input : rule.inputs) check_argument(input, "inputs");
  for (const auto& condition : rule.conditions)
    check_argument(condition.argument, condition.equal ? "when" : "unless");
  if (rule.bits != 0) check_bits(rule.bits, "operators." + name + ".bits", platform);
  SPARSEBIT_CHECK(!rule.weight_axis || (*rule.weight_axis >= 0 && *rule.weight_axis <= 1),
                  InvalidArgument, where, ".weight_axis: expected 0 or 1, found ",
                  *rule.weight_axis);
}

}  // namespace

void check_platform(const platforms::Platform& platform) {
  const auto check = [&](const std::vector<std::string>& names, const char* key) {
    for (const std::string& name : names) check_operator(name, platform.name, key);
  };
  for (const auto& [name, rule] : platform.operators) {
    check({name}, "operators");
    check(rule.fused_with, "fused_with");
    check(rule.not_after, "not_after");
    check_rule(name, rule, platform.name);
  }
  const int64_t ends = platform.placement.first_and_last_bits;
  if (ends != 0) check_bits(ends, "placement.first_and_last_bits", platform.name);
  check_regions(platform);
  for (const auto& [name, why] : platform.floats) check({name}, "floats");
  const platforms::PlacementPolicy& policy = platform.placement;
  check(policy.pass_through, "placement.pass_through");
  check(policy.fuses, "placement.fuses");
  check(policy.transparent, "placement.transparent");
  check(policy.keeps_grid, "placement.keeps_grid");
  check(policy.unsigned_after, "placement.unsigned_after");
  check(policy.unsigned_follows, "placement.unsigned_follows");
  check_limits(platform.weights, "weights", platform.name);
  check_limits(platform.activations, "activations", platform.name);
}

}  // namespace sparsebit::quant
