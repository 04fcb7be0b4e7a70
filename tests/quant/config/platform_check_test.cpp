#include "quant/config/platform_check.h"

#include "sparsebit/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace sparsebit::quant::platform_check_test {
namespace {

using platforms::IntegerForm;
using platforms::OperatorRule;
using platforms::Platform;
using testing::HasSubstr;
using testing::StartsWith;

/// The error of a platform with one operator after a change.
std::string error_of(const std::function<void(Platform&)>& change) {
  Platform platform{.name = "mine"};
  platform.operators["linear"] = {.form = IntegerForm::Layer, .inputs = {"input"}};
  change(platform);
  try {
    check_platform(platform);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::InvalidArgument);
    return e.what();
  }
  return "";
}

TEST(PlatformCheck, AllBuiltInOnesAreFine) {
  for (const std::string& name : platforms::platforms().names())
    EXPECT_NO_THROW(check_platform(*platforms::find_platform(name))) << name;
  EXPECT_EQ(error_of([](Platform&) {}), "");
}

/// Every list of operator names and its key in the file.
TEST(PlatformCheck, OperatorsThatDoNotExistAreNamedWithTheirKey) {
  using Change = std::function<void(Platform&, const std::string&)>;
  const std::vector<std::pair<const char*, Change>> lists = {
      {"operators", [](auto& p, const auto& op) { p.operators[op] = {}; }},
      {"fused_with", [](auto& p, const auto& op) { p.operators["linear"].fused_with = {op}; }},
      {"not_after", [](auto& p, const auto& op) { p.operators["linear"].not_after = {op}; }},
      {"floats", [](auto& p, const auto& op) { p.floats[op] = "slow"; }},
      {"placement.pass_through", [](auto& p, const auto& op) { p.placement.pass_through = {op}; }},
      {"placement.fuses", [](auto& p, const auto& op) { p.placement.fuses = {op}; }},
      {"placement.transparent", [](auto& p, const auto& op) { p.placement.transparent = {op}; }},
      {"placement.keeps_grid", [](auto& p, const auto& op) { p.placement.keeps_grid = {op}; }},
      {"placement.unsigned_after",
       [](auto& p, const auto& op) { p.placement.unsigned_after = {op}; }},
      {"placement.unsigned_follows",
       [](auto& p, const auto& op) { p.placement.unsigned_follows = {op}; }}};
  for (const auto& [key, change] : lists) {
    EXPECT_EQ(error_of([&](Platform& p) { change(p, "relu"); }), "") << key;
    EXPECT_THAT(error_of([&](Platform& p) { change(p, "tanhh"); }),
                StartsWith(std::string("platform mine: ") + key +
                           ": unknown operator 'tanhh'; did you mean 'tanh'"));
  }
}

TEST(PlatformCheck, RowsSayOnlyWhatTheirOperatorHas) {
  const auto error_of_row = [](const char* op, const OperatorRule& rule) {
    return error_of([&](Platform& p) { p.operators[op] = rule; });
  };
  EXPECT_EQ(error_of_row("add", {.form = IntegerForm::Layer}),
            "platform mine: operators.add.form: 'add' has no weight, which layer and lookup need");
  EXPECT_THAT(error_of_row("add", {.form = IntegerForm::Lookup}), HasSubstr("has no weight"));
  EXPECT_EQ(error_of_row("add", {.inputs = {"input", "second"}}),
            "platform mine: operators.add.inputs: 'add' has no argument 'second'");
  EXPECT_EQ(error_of_row("add", {.conditions = {{.argument = "beta", .value = "1"}}}),
            "platform mine: operators.add.when: 'add' has no argument 'beta'");
  EXPECT_EQ(
      error_of_row("add", {.conditions = {{.argument = "beta", .value = "1", .equal = false}}}),
      "platform mine: operators.add.unless: 'add' has no argument 'beta'");
  EXPECT_EQ(error_of_row("linear", {.weight_axis = 2}),
            "platform mine: operators.linear.weight_axis: expected 0 or 1, found 2");
  EXPECT_THAT(error_of_row("linear", {.weight_axis = -1}), HasSubstr("expected 0 or 1, found -1"));
}

TEST(PlatformCheck, BitsAndSchemesThatDoNotExist) {
  EXPECT_EQ(error_of([](Platform& p) { p.operators["linear"].bits = 17; }),
            "platform mine: operators.linear.bits: expected 2 to 16 bits, found 17");
  EXPECT_EQ(error_of([](Platform& p) { p.placement.first_and_last_bits = 1; }),
            "platform mine: placement.first_and_last_bits: expected 2 to 16 bits, found 1");
  const char *symmetric = "per-tensor-symmetric", *typo = "per-tensor-symetric";
  EXPECT_THAT(error_of([&](Platform& p) {
                p.weights.schemes = {symmetric, typo};
              }),
              HasSubstr("did you mean 'per-tensor-symmetric'"));
  EXPECT_THAT(error_of([&](Platform& p) { p.activations.schemes = {typo}; }), HasSubstr(typo));
  EXPECT_EQ(error_of([&](Platform& p) {
              p.weights.bits = {8, 0};
            }),
            "platform mine: weights.bits: expected 2 to 16 bits, found 0");
  EXPECT_THAT(error_of([&](Platform& p) { p.activations.unsupported_quantizers = {"lsqq"}; }),
              HasSubstr("lsqq"));
}

/// The export with integer operators needs quantized outputs, as integer_regions places them.
TEST(PlatformCheck, FormsThatAPlacementDoesNotHave) {
  using Kind = platforms::PlacementPolicy::Kind;
  EXPECT_THAT(error_of([](Platform& p) {
                p.placement.kind = Kind::OperatorInputs;
                p.integer_operators = true;
              }),
              HasSubstr("integer_operators: needs placement.policy integer_regions"));
  EXPECT_THAT(error_of([](Platform& p) {
                p.placement.kind = Kind::IntegerRegions;
                p.operators["embedding"] = {.form = IntegerForm::Lookup};
              }),
              HasSubstr("operators.embedding.form: lookup is not supported with"));
}

}  // namespace
}  // namespace sparsebit::quant::platform_check_test
