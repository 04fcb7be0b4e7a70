#include "quant/config/platform_check.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/near_match.h"
#include "sparsebit/fx/ops/operator.h"
#include "sparsebit/quant/spec/quant_spec.h"

namespace sparsebit::quant {
namespace {

void check_operator(const std::string& name, const std::string& platform, const char* key) {
  if (fx::operators().find_operator(name)) return;
  std::vector<std::string> known;
  for (const fx::Operator* op : fx::operators().all()) known.push_back(op->name);
  throw Error(ErrorKind::InvalidArgument,
              c10::str("platform ", platform, ": ", key, ": there is no ", "operator '", name, "'",
                       did_you_mean(name, known)));
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
    const fx::Schema& schema = fx::operators().find_operator(name)->schema;
    for (const std::string& input : rule.inputs)
      SPARSEBIT_CHECK(schema.find(input), InvalidArgument, "platform ", platform.name,
                      ": operators.", name, ".inputs: there is no argument '", input, "'");
  }
  for (const auto& [name, why] : platform.floats) check({name}, "floats");
  const platforms::PlacementPolicy& policy = platform.placement;
  check(policy.pass_through, "placement.pass_through");
  check(policy.fuses, "placement.fuses");
  check(policy.transparent, "placement.transparent");
  check(policy.keeps_grid, "placement.keeps_grid");
  check(policy.unsigned_after, "placement.unsigned_after");
  check(policy.unsigned_follows, "placement.unsigned_follows");
  for (const platforms::TensorLimits* limits : {&platform.weights, &platform.activations}) {
    for (const std::string& scheme : limits->schemes) scheme_from_text(scheme);
  }
}

}  // namespace sparsebit::quant
