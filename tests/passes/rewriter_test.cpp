#include "passes/pass_case.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace sparsebit::passes::rewriter_test {
namespace {

using test::model_of;
using test::short_text;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

/// tanh(tanh(x)) -> tanh(x): mathematically wrong, but a chain that shrinks.
Pass shorten_tanh() {
  return {.name = "shorten_tanh",
          .summary = "tanh(tanh(x)) is tanh(x)",
          .stage = Stage::Fuse,
          .rules = {{Pattern({{.name = "first", .operators = {"tanh"}},
                              {.name = "second", .operators = {"tanh"}, .inputs = {"first"}}}),
                     [](const Match& match, Rewriter& rewriter) -> Replacements {
                       return {{&match.node("second"),
                                rewriter.graph().call_function("torch.tanh",
                                                               {match["first"].arg("input")})}};
                     }}}};
}

/// Runs only this pass.
PassReport run_only(fx::GraphModule& module, const Pass& pass) {
  Schedule schedule{.stages = {pass.stage}, .extra = {pass}};
  for (const std::string& name : passes().names()) schedule.switches[name] = false;
  return run_passes(module, schedule);
}

TEST(Rewriter, ReplacesAChainOfAnyLengthInFewSweeps) {
  auto graph = std::make_unique<fx::Graph>();
  fx::Node* last = &graph->placeholder("x");
  for (int i = 0; i < 1000; ++i) last = &graph->call_function("torch.tanh", {*last});
  graph->output(*last);
  fx::GraphModule module(std::move(graph), "Model");
  run_only(module, shorten_tanh());
  EXPECT_EQ(module.graph().size(), 3u);
}

TEST(Rewriter, TellsWhatItDid) {
  const auto module = model_of(R"(
      %x = input()
      %a = torch.tanh(%x)
      %b = torch.tanh(%a)
      %c = torch.tanh(%b)
      return %c)");
  const PassReport report = run_only(*module, shorten_tanh());
  ASSERT_EQ(report.changes.size(), 2u);
  EXPECT_EQ(report.changes[0].pass, "shorten_tanh");
  EXPECT_THAT(report.changes[0].before, ElementsAre("a", "b"));
  EXPECT_THAT(report.changes[0].after, ElementsAre("tanh"));
  EXPECT_THAT(report.changes[1].before, ElementsAre("tanh", "c"));
  EXPECT_EQ(short_text(module->graph()),
            "%x = input()\n%tanh_1 = torch.tanh(%x)\nreturn %tanh_1\n");
  EXPECT_EQ(report.history_of({"tanh_1"}).size(), 2u);
  EXPECT_THAT(report.history_of({"x"}), IsEmpty());
}

TEST(Rewriter, NewNodesTakeOverPathAndShape) {
  const auto module = model_of("%x = input()\n%a = torch.tanh(%x)\n%b = torch.tanh(%a)\nreturn %b");
  fx::Node& b = *module->graph().find("b");
  b.set_module_path("encoder.act");
  b.set_tensor_info(fx::TensorInfo{{2, 3}, at::kFloat});
  run_only(*module, shorten_tanh());
  const fx::Node& now = *module->graph().find("tanh");
  EXPECT_EQ(now.module_path(), "encoder.act");
  EXPECT_EQ(now.tensor_info(), (fx::TensorInfo{{2, 3}, at::kFloat}));
}

TEST(Rewriter, DropsModulesThatNobodyCallsAnyMore) {
  const auto module = model_of(R"(
      %x = input()
      %a = self.block.act(%x)
      %b = torch.tanh(%a)
      return %b)",
                               {{"block.act", fx::make_module("torch.nn.Tanh", {})}});
  run_only(*module, shorten_tanh());
  EXPECT_FALSE(module->find_module("block"));
}

TEST(Rewriter, APassThatNeverSettlesIsNamed) {
  const auto module = model_of("%x = input()\n%a = torch.tanh(%x)\nreturn %a");
  const Pass restless{
      .name = "restless",
      .summary = "replaces tanh by tanh",
      .stage = Stage::Fuse,
      .rules = {{Pattern({{.name = "t", .operators = {"tanh"}}}),
                 [](const Match& match, Rewriter& rewriter) -> Replacements {
                   return {{&match.node("t"), rewriter.graph().call_function(
                                                  "torch.tanh", {match["t"].arg("input")})}};
                 }}}};
  EXPECT_THAT([&] { run_only(*module, restless); },
              ThrowsMessage<Error>(AllOf(HasSubstr("the pass does not converge: after 64 sweeps"),
                                         HasSubstr("in pass 'restless'"))));
}

TEST(Rewriter, PassesThatUndoEachOtherAreNamed) {
  const auto module = model_of("%x = input()\n%a = torch.tanh(%x)\nreturn %a");
  const auto exchange = [](const char* name, const char* from, const char* to) {
    return Pass{.name = name,
                .summary = "",
                .stage = Stage::Fuse,
                .rules = {{Pattern({{.name = "t", .operators = {from}}}),
                           [to](const Match& match, Rewriter& rewriter) -> Replacements {
                             return {{&match.node("t"),
                                      rewriter.graph().call_function(std::string("torch.") + to,
                                                                     {match["t"].arg("input")})}};
                           }}}};
  };
  Schedule schedule{.stages = {Stage::Fuse}};
  schedule.extra = {exchange("there", "tanh", "sigmoid"), exchange("back", "sigmoid", "tanh")};
  EXPECT_THAT(
      [&] { run_passes(*module, schedule); },
      ThrowsMessage<Error>(HasSubstr("the passes do not converge: after 16 rounds 'back'")));
}

TEST(Rewriter, RulesThatChangeTheirMindLeaveNothingBehind) {
  const auto module = model_of("%x = input()\n%a = torch.tanh(%x)\nreturn %a");
  const Pass undecided{.name = "undecided",
                       .summary = "",
                       .stage = Stage::Fuse,
                       .rules = {{Pattern({{.name = "t", .operators = {"tanh"}}}),
                                  [](const Match& match, Rewriter& rewriter) -> Replacements {
                                    rewriter.graph().call_function("torch.relu", {match.node("t")});
                                    return {};
                                  }}}};
  EXPECT_THAT(run_only(*module, undecided).changes, IsEmpty());
  EXPECT_EQ(module->graph().size(), 3u);
}

// --- several outputs ----------------------------------------------------------------------------

/// Replaces tanh(x) and sigmoid(x) of the same x: mathematically wrong, but has two outputs.
Pass replace_pairs() {
  return {.name = "replace_pairs",
          .summary = "erf for tanh and neg for sigmoid",
          .stage = Stage::Fuse,
          .rules = {{Pattern({{.name = "x"},
                              {.name = "t", .operators = {"tanh"}, .inputs = {"x"}},
                              {.name = "s", .operators = {"sigmoid"}, .inputs = {"x"}}}),
                     [](const Match& match, Rewriter& rewriter) -> Replacements {
                       fx::Graph& graph = rewriter.graph();
                       fx::Node& x = match.node("x");
                       return {{&match.node("t"), graph.call_function("torch.erf", {x})},
                               {&match.node("s"), graph.call_function("torch.neg", {x})}};
                     }}}};
}

TEST(Rewriter, TwoOutputsWithAUserBetweenThem) {
  const auto module = model_of(R"(
      %x = input()
      %t = torch.tanh(%x)
      %u = torch.abs(%t)
      %s = torch.sigmoid(%x)
      %y = torch.mul(%u, %s)
      return %y)");
  const PassReport report = run_only(*module, replace_pairs());
  ASSERT_EQ(report.changes.size(), 1u);
  EXPECT_THAT(report.changes[0].before, ElementsAre("t", "s"));
  EXPECT_THAT(report.changes[0].after, UnorderedElementsAre("erf", "neg"));
  EXPECT_EQ(short_text(module->graph()),
            "%x = input()\n%erf = torch.erf(%x)\n%u = torch.abs(%erf)\n%neg = torch.neg(%x)\n"
            "%y = torch.mul(%u, %neg)\nreturn %y\n");
}

TEST(Rewriter, TwoOutputsWithAWriteBetweenThemStay) {
  const auto module = model_of(R"(
      %x = input()
      %a = torch.abs(%x)
      %t = torch.tanh(%a)
      %w = %a.add_(1)
      %s = torch.sigmoid(%a)
      return (%t, %s, %w))");
  EXPECT_THAT(run_only(*module, replace_pairs()).changes, IsEmpty());
}

TEST(Rewriter, ReplacementsThatMakeACycleAreErrors) {
  const auto module = model_of("%x = input()\n%a = torch.tanh(%x)\n%b = torch.abs(%a)\nreturn %b");
  const Pass circular{.name = "circular",
                      .summary = "a reads what is made of a",
                      .stage = Stage::Fuse,
                      .rules = {{Pattern({{.name = "a", .operators = {"tanh"}},
                                          {.name = "b", .operators = {"abs"}, .inputs = {"a"}}}),
                                 [](const Match& match, Rewriter&) -> Replacements {
                                   return {{&match.node("a"), match.node("b")}};
                                 }}}};
  EXPECT_THAT([&] { run_only(*module, circular); },
              ThrowsMessage<Error>(
                  AllOf(HasSubstr("the graph has a cycle"), HasSubstr("in pass 'circular'"))));
}

// --- sweeps -------------------------------------------------------------------------------------

/// Rules do not match nodes that became unused through an earlier rule of the sweep.
TEST(Rewriter, LaterRulesDoNotMatchWhatNobodyReadsAnyMore) {
  std::set<std::string> seen;
  Pass pass = shorten_tanh();
  pass.rules.push_back({Pattern({{.name = "t", .operators = {"tanh"}}}),
                        [&](const Match& match, Rewriter&) -> Replacements {
                          seen.insert(match.node("t").name());
                          return {};
                        }});
  const auto module = model_of(R"(
      %x = input()
      %a = torch.tanh(%x)
      %b = torch.tanh(%a)
      return %b)");
  run_only(*module, pass);
  EXPECT_THAT(seen, ElementsAre("tanh"));
}

/// Nodes after one layer are folded in one sweep; a second sweep finds nothing to do.
TEST(Rewriter, AChainIntoOneNodeTakesOneSweep) {
  int sweeps = 0;
  const Pass shorten{
      .name = "shorten",
      .summary = "neg(tanh(x)) is tanh(x)",
      .stage = Stage::Fuse,
      .rules = {{Pattern({{.name = "t", .operators = {"tanh"}, .users = Users::Inside},
                          {.name = "n", .operators = {"neg"}, .inputs = {"t"}}}),
                 [](const Match& match, Rewriter&) -> Replacements {
                   return {{&match.node("n"), match.node("t")}};
                 }},
                {Pattern({{.name = "last", .operators = {"abs"}}}),
                 [&](const Match&, Rewriter&) -> Replacements {
                   ++sweeps;
                   return {};
                 }}}};
  auto graph = std::make_unique<fx::Graph>();
  fx::Node* last = &graph->call_function("torch.tanh", {graph->placeholder("x")});
  for (int i = 0; i < 50; ++i) last = &graph->call_function("torch.neg", {*last});
  graph->output(graph->call_function("torch.abs", {*last}));
  fx::GraphModule module(std::move(graph), "Model");
  EXPECT_EQ(run_only(module, shorten).changes.size(), 50u);
  EXPECT_LE(sweeps, 3);  // the third finds nothing after all passes
}

/// Removing each dropout changes the one node that reads them all.
TEST(Rewriter, ANodeWithManyInputs) {
  constexpr int kMany = 4000;
  auto graph = std::make_unique<fx::Graph>();
  fx::Node& x = graph->placeholder("x");
  fx::List parts;
  for (int i = 0; i < kMany; ++i) {
    fx::Node& part = graph->call_function("torch.mul", {x, double{i + 1.}});
    parts.items.emplace_back(
        graph->call_function("torch.nn.functional.dropout", {part, 0.5, false}));
  }
  graph->output(graph->call_function("torch.cat", {parts}));
  fx::GraphModule module(std::move(graph), "Model");
  test::run_and_compare(module, {"remove_identity"}, {at::ones({2})});
  EXPECT_EQ(module.graph().size(), kMany + 3u);
}

TEST(Rewriter, AnErrorNamesPassAndNodes) {
  const auto module = model_of("%x = input()\n%a = torch.tanh(%x)\nreturn %a");
  const Pass broken{.name = "broken",
                    .summary = "",
                    .stage = Stage::Fuse,
                    .rules = {{Pattern({{.name = "t", .operators = {"tanh"}}}),
                               [](const Match& match, Rewriter&) -> Replacements {
                                 return {{&match.node("u"), 1}};
                               }}}};
  EXPECT_THAT([&] { run_only(*module, broken); },
              ThrowsMessage<Error>(AllOf(HasSubstr("there is no node 'u' in the pattern"),
                                         HasSubstr("at 'a'"), HasSubstr("in pass 'broken'"))));
}

// --- memory that is written in place ------------------------------------------------------------

TEST(Rewriter, DoesNotReadAcrossAWrite) {
  const auto module = model_of(R"(
      %x = input()
      %y = torch.abs(%x)
      %a = torch.tanh(%y)
      %w = %y.add_(1)
      %b = torch.tanh(%a)
      return (%b, %w))");
  const std::string before = short_text(module->graph());
  EXPECT_THAT(run_only(*module, shorten_tanh()).changes, IsEmpty());
  EXPECT_EQ(short_text(module->graph()), before);
}

TEST(Rewriter, AFreshValueMayBeWrittenLater) {
  const auto module = model_of(R"(
      %x = input()
      %a = torch.tanh(%x)
      %b = torch.tanh(%a)
      %c = %b.add_(1)
      return %c)");
  EXPECT_EQ(run_only(*module, shorten_tanh()).changes.size(), 1u);
  EXPECT_EQ(short_text(module->graph()),
            "%x = input()\n%tanh = torch.tanh(%x)\n%c = %tanh.add_(1)\nreturn %c\n");
}

TEST(Rewriter, WhatIsWrittenDoesNotBecomeShared) {
  // Without the cat, c would write to y, which has another reader.
  const auto module = model_of(R"(
      %x = input()
      %y = torch.abs(%x)
      %b = torch.cat([%y])
      %c = %b.add_(1)
      return (%c, %y))");
  EXPECT_THAT(run_selected(*module, {"remove_no_ops"}).changes, IsEmpty());
}

// After the first replacement, y is a value that is written in place.
TEST(Rewriter, RemembersWhatIsWrittenWithinASweep) {
  const auto module = model_of(R"(
      %x = input()
      %y = torch.abs(%x)
      %b = torch.cat([%y])
      %q = torch.cat([%b])
      %c = %b.add_(1)
      return (%q, %b))");
  test::run_and_compare(*module, {"remove_no_ops"}, {at::ones({2})});
}

TEST(Rewriter, InPlaceNodesAreNotMatched) {
  const auto module = model_of(R"(
      %x = input()
      %y = torch.abs(%x)
      %a = %y.tanh_()
      %b = torch.tanh(%a)
      return (%b, %y))");
  EXPECT_THAT(run_only(*module, shorten_tanh()).changes, IsEmpty());
}

// --- schedules and the registry -----------------------------------------------------------------

TEST(Schedule, SwitchesPassesOffInAnyCase) {
  const auto module = model_of("%x = input()\n%a = self.drop(%x)\n%b = torch.neg(%a)\nreturn %b",
                               {{"drop", fx::make_module("torch.nn.Dropout", {})}});
  Schedule schedule{.stages = {Stage::Simplify}, .switches = {{"REMOVE_IDENTITY", false}}};
  EXPECT_THAT(run_passes(*module, schedule).changes, IsEmpty());
  schedule.switches["REMOVE_IDENTITY"] = true;
  EXPECT_EQ(run_passes(*module, schedule).changes.size(), 1u);
}

TEST(Schedule, ExtraPassesAreSwitchedAsOthersAre) {
  const auto module = model_of("%x = input()\n%a = torch.tanh(%x)\n%b = torch.tanh(%a)\nreturn %b");
  Pass pass = shorten_tanh();
  pass.name = "Shorten_Tanh";
  Schedule schedule{
      .stages = {Stage::Fuse}, .switches = {{"shorten_tanh", false}}, .extra = {pass}};
  EXPECT_THAT(run_passes(*module, schedule).changes, IsEmpty());
  schedule.extra.push_back(pass);
  EXPECT_THAT([&] { run_passes(*module, schedule); },
              ThrowsMessage<Error>(HasSubstr("there are two passes 'Shorten_Tanh'")));
}

TEST(Schedule, UnknownPassesAreErrorsWithNearNames) {
  const auto module = model_of("%x = input()\nreturn %x");
  const Schedule schedule{.switches = {{"FUSE_BNN", false}}};
  EXPECT_THAT([&] { run_passes(*module, schedule); },
              ThrowsMessage<Error>(HasSubstr("unknown pass 'FUSE_BNN'; did you mean 'fuse_bn'")));
}

TEST(Schedule, WhatContradictsItselfIsAnError) {
  const auto module = model_of("%x = input()\nreturn %x");
  Schedule schedule{.switches = {{"FUSE_BN", false}, {"fuse_bn", true}}};
  EXPECT_THAT([&] { run_passes(*module, schedule); },
              ThrowsMessage<Error>(HasSubstr("pass 'fuse_bn' is switched twice")));
  schedule = {.stages = {Stage::Simplify}, .extra = {shorten_tanh()}};
  EXPECT_THAT([&] { run_passes(*module, schedule); },
              ThrowsMessage<Error>(HasSubstr(
                  "pass 'shorten_tanh' would never run: its stage is not among the schedule's")));
}

TEST(PassRegistry, OrdersPasses) {
  PassRegistry registry;
  const auto pass = [](const char* name) {
    return Pass{.name = name, .summary = "", .stage = Stage::Fuse, .run = [](Rewriter&) {}};
  };
  registry.add(pass("b"));
  registry.add(pass("c"));
  registry.add(pass("a"), /*before=*/"b");
  EXPECT_THAT(registry.names(), ElementsAre("a", "b", "c"));
  EXPECT_THAT([&] { registry.add(pass("b")); },
              ThrowsMessage<Error>(HasSubstr("pass 'b' is registered twice")));
  EXPECT_THAT([&] { registry.add(pass("d"), "x"); },
              ThrowsMessage<Error>(HasSubstr("unknown pass 'x'")));
  EXPECT_THAT([&] { registry.add({.name = "empty", .summary = "", .stage = Stage::Fuse}); },
              ThrowsMessage<Error>(HasSubstr("pass 'empty' needs either rules or run")));
  EXPECT_THAT(registry.names(), ElementsAre("a", "b", "c"));
}

}  // namespace
}  // namespace sparsebit::passes::rewriter_test
