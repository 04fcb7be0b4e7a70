#include "passes/pass_case.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/random.h"
#include "sparsebit/passes/matcher.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>

namespace sparsebit::passes::matcher_test {
namespace {

using test::model_of;
using testing::ElementsAre;
using testing::IsEmpty;

/// The names of the nodes of each occurrence, in the pattern's order.
std::vector<std::string> occurrences(const Pattern& pattern, fx::GraphModule& module) {
  const GraphIndex index(module);
  std::vector<std::string> found;
  for (const Match& match : find_matches(pattern, index)) {
    std::string text;
    for (const fx::Node* node : match.nodes()) text += (text.empty() ? "" : " ") + node->name();
    found.push_back(text);
  }
  return found;
}

PatternNode op(const char* name, std::vector<std::string> operators,
               std::vector<std::string> inputs = {}, InputOrder order = InputOrder::Exact,
               Users users = Users::Free) {
  return {.name = name,
          .operators = std::move(operators),
          .inputs = std::move(inputs),
          .order = order,
          .users = users};
}

TEST(Matcher, FindsEveryOccurrenceInGraphOrder) {
  const auto module = model_of(R"(
      %x = input()
      %a = torch.tanh(%x)
      %b = torch.relu(%a)
      %c = torch.tanh(%b)
      %d = torch.relu(%c)
      %e = torch.relu(%a)
      return (%d, %e))");
  const Pattern pattern({op("first", {"tanh"}), op("second", {"relu"}, {"first"})});
  EXPECT_THAT(occurrences(pattern, *module), ElementsAre("a b", "c d", "a e"));
}

TEST(Matcher, OperatorsAreTheSameInAnyForm) {
  const auto module = model_of(R"(
      %x = input()
      %a = self.act(%x)
      %b = torch.nn.functional.relu(%a)
      %c = %b.relu()
      return %c)",
                               {{"act", fx::make_module("torch.nn.ReLU", {})}});
  EXPECT_THAT(occurrences(Pattern({op("relu", {"relu"})}), *module), ElementsAre("a", "b", "c"));
}

TEST(Matcher, ExactInputsHaveTheirPositions) {
  const auto module = model_of(R"(
      %x = input()
      %a = torch.tanh(%x)
      %b = torch.sub(%a, %x)
      %c = torch.sub(%x, %a)
      %d = torch.sub(%a, 1)
      return (%b, %c, %d))");
  const Pattern first({op("t", {"tanh"}), op("s", {"sub"}, {"t", kAnything})});
  const Pattern second({op("t", {"tanh"}), op("s", {"sub"}, {kAnything, "t"})});
  const Pattern only({op("t", {"tanh"}), op("s", {"sub"}, {"t"})});
  EXPECT_THAT(occurrences(first, *module), ElementsAre("a b"));
  EXPECT_THAT(occurrences(second, *module), ElementsAre("a c"));
  EXPECT_THAT(occurrences(only, *module), ElementsAre("a d"));
}

TEST(Matcher, ArgumentsGivenByNameStandInOrderOfTheSchema) {
  const auto module = model_of(R"(
      %x = input()
      %a = torch.tanh(%x)
      %b = torch.sub(other=%x, input=%a)
      return %b)");
  const Pattern pattern({op("t", {"tanh"}), op("s", {"sub"}, {"t", kAnything})});
  EXPECT_THAT(occurrences(pattern, *module), ElementsAre("a b"));
}

TEST(Matcher, AnyOrderFindsBothWaysOnce) {
  const auto module = model_of(R"(
      %x = input()
      %a = torch.sigmoid(%x)
      %b = torch.mul(%x, %a)
      %c = torch.mul(%a, %x)
      %d = torch.mul(%a, %a)
      return (%b, %c, %d))");
  const Pattern silu({{.name = "x"},
                      op("gate", {"sigmoid"}, {"x"}),
                      op("product", {"mul"}, {"x", "gate"}, InputOrder::Any)});
  EXPECT_THAT(occurrences(silu, *module), ElementsAre("x a b", "x a c"));
}

TEST(Matcher, OneNodeCanBeTwoInputs) {
  const auto module = model_of(R"(
      %x = input()
      %a = torch.tanh(%x)
      %b = torch.mul(%a, %a)
      %c = torch.mul(%a, %x)
      return (%b, %c))");
  const Pattern square({op("t", {"tanh"}), op("s", {"mul"}, {"t", "t"})});
  EXPECT_THAT(occurrences(square, *module), ElementsAre("a b"));
}

// A node with more inputs than the pattern names; an index error in the Python Sparsebit (B-20).
TEST(Matcher, SubsetLeavesOtherInputsAlone) {
  const auto module = model_of(R"(
      %x = input()
      %a = torch.tanh(%x)
      %b = torch.relu(%x)
      %c = torch.sigmoid(%x)
      %d = torch.cat([%x, %c, %b, %a])
      %e = torch.cat([%a, %c])
      return (%d, %e))");
  const Pattern two({{.name = "x"},
                     op("t", {"tanh"}, {"x"}),
                     op("r", {"relu"}, {"x"}),
                     op("cat", {"cat"}, {"t", "r"}, InputOrder::Subset)});
  EXPECT_THAT(occurrences(two, *module), ElementsAre("x a b d"));
  const Pattern one({op("t", {"tanh"}), op("cat", {"cat"}, {"t"}, InputOrder::Subset)});
  EXPECT_THAT(occurrences(one, *module), ElementsAre("a d", "a e"));
}

// Each named input is matched to a different position, in any order of the search (B-20).
TEST(Matcher, SubsetAssignsInputsToDifferentPositions) {
  const auto module = model_of(R"(
      %x = input()
      %a = torch.tanh(%x)
      %b = torch.relu(%x)
      %c = torch.cat([%a, %b])
      %d = torch.cat([%a, %a])
      return (%c, %d))");
  const Pattern pattern({op("any", {"tanh", "relu"}), op("t", {"tanh"}),
                         op("cat", {"cat"}, {"any", "t"}, InputOrder::Subset)});
  EXPECT_THAT(occurrences(pattern, *module), ElementsAre("b a c"));
}

// The search continues after a rejected first candidate (B-21).
TEST(Matcher, TriesLaterCandidatesWhenAJointCheckRejectsTheFirst) {
  const auto module = model_of(R"(
      %x = input()
      %a = torch.tanh(%x)
      %b = torch.relu(%a)
      %c = torch.relu(%b)
      %d = torch.relu(%a)
      return (%c, %d))");
  const Pattern pattern({op("t", {"tanh"}), op("r", {"relu"}, {"t"})},
                        {{{"t", "r"}, [](const Match& m) { return m.node("r").name() == "d"; }}});
  EXPECT_THAT(occurrences(pattern, *module), ElementsAre("a d"));
}

TEST(Matcher, GoesBackWhereADeeperConditionFails) {
  const auto module = model_of(R"(
      %x = input()
      %a = torch.relu(%x)
      %b = torch.relu(%x)
      %t = torch.tanh(%b)
      %s = torch.add(%a, %b)
      return (%s, %t))");
  // `left` can be a or b; only b is read by a tanh.
  const Pattern pattern({op("left", {"relu"}), op("right", {"relu"}),
                         op("sum", {"add"}, {"left", "right"}, InputOrder::Any),
                         op("tanh", {"tanh"}, {"left"})});
  EXPECT_THAT(occurrences(pattern, *module), ElementsAre("b a s t"));
}

// A joint check sees each node under its own name (B-22).
TEST(Matcher, JointChecksSeeNodesByTheirNames) {
  const auto module = model_of(R"(
      %x = input()
      %a = torch.tanh(%x)
      %b = torch.relu(%a)
      %c = torch.sigmoid(%b)
      return %c)");
  std::vector<std::string> seen;
  const auto look = [&](const Match& match) {
    seen = {match.node("s").name(), match.node("t").name()};
    return match["s"].is("sigmoid") && match["t"].is("tanh");
  };
  const Pattern pattern({op("t", {"tanh"}), op("r", {"relu"}, {"t"}), op("s", {"sigmoid"}, {"r"})},
                        {{{"s", "t"}, look}});
  EXPECT_THAT(occurrences(pattern, *module), ElementsAre("a b c"));
  EXPECT_THAT(seen, ElementsAre("c", "a"));
}

// Nodes bound before a failed joint check can be matched again (B-23).
TEST(Matcher, AFailedJointCheckLeavesNothingBehind) {
  const auto module = model_of(R"(
      %x = input()
      %a = torch.tanh(%x)
      %b = torch.tanh(%x)
      %c = torch.add(%a, %b)
      return %c)");
  const Pattern pattern(
      {op("p", {"tanh"}), op("q", {"tanh"}), op("sum", {"add"}, {"p", "q"}, InputOrder::Any)},
      {{{"p", "sum"}, [](const Match& m) { return m.node("p").name() == "b"; }}});
  EXPECT_THAT(occurrences(pattern, *module), ElementsAre("b a c"));
}

TEST(Matcher, NodeChecksSeeArguments) {
  const auto module = model_of(R"(
      %x = input()
      %a = torch.add(%x, 1)
      %b = torch.add(%a, 2)
      return %b)");
  PatternNode sum = op("sum", {"add"});
  sum.check = [](const NodeView& view) { return view.arg("other").to_int() == 2; };
  EXPECT_THAT(occurrences(Pattern({sum}), *module), ElementsAre("b"));
}

TEST(Matcher, InsideMeansNoOtherUser) {
  const auto module = model_of(R"(
      %x = input()
      %a = torch.tanh(%x)
      %b = torch.relu(%a)
      %c = torch.tanh(%b)
      %d = torch.relu(%c)
      return (%d, %a))");
  const Pattern closed(
      {op("t", {"tanh"}, {}, InputOrder::Exact, Users::Inside), op("r", {"relu"}, {"t"})});
  EXPECT_THAT(occurrences(closed, *module), ElementsAre("c d"));
}

TEST(Matcher, APatternMayHaveSeveralOutputs) {
  const auto module = model_of(R"(
      %x = input()
      %a = torch.tanh(%x)
      %b = torch.relu(%a)
      %c = torch.sigmoid(%a)
      return (%b, %c))");
  const Pattern fork({op("t", {"tanh"}, {}, InputOrder::Exact, Users::Inside),
                      op("r", {"relu"}, {"t"}), op("s", {"sigmoid"}, {"t"})});
  EXPECT_THAT(occurrences(fork, *module), ElementsAre("a b c"));
}

TEST(Matcher, DifferentPatternNodesAreDifferentNodes) {
  const auto module = model_of(R"(
      %x = input()
      %a = torch.relu(%x)
      %b = torch.add(%a, %a)
      return %b)");
  const Pattern pattern({op("p", {"relu"}), op("q", {"relu"}), op("sum", {"add"}, {"p", "q"})});
  EXPECT_THAT(occurrences(pattern, *module), IsEmpty());
}

TEST(Matcher, CallsThatDoNotFitTheirOperatorMatchNothing) {
  const auto module = model_of("%x = input()\n%a = torch.relu(%x, %x, %x, %x)\nreturn %a");
  EXPECT_THAT(occurrences(Pattern({op("r", {"relu"})}), *module), IsEmpty());
}

// --- against a brute-force search ---------------------------------------------------------------

/// Whether pattern inputs can be assigned to positions of the node, by trying all assignments.
bool inputs_fit(const PatternNode& wanted, const NodeView& view,
                const std::function<const fx::Node*(const std::string&)>& bound) {
  if (wanted.inputs.empty()) return true;
  std::vector<size_t> positions(view.inputs.size());
  std::iota(positions.begin(), positions.end(), size_t{0});
  if (wanted.order != InputOrder::Subset && view.inputs.size() != wanted.inputs.size())
    return false;
  if (view.inputs.size() < wanted.inputs.size()) return false;
  do {
    bool fits = true;
    for (size_t i = 0; i < wanted.inputs.size(); ++i) {
      const fx::Node* node = bound(wanted.inputs[i]);
      fits = fits && (!node || node == view.inputs[positions[i]]);
    }
    if (fits) return true;
  } while (wanted.order != InputOrder::Exact &&
           std::next_permutation(positions.begin(), positions.end()));
  return false;
}

/// Sets of nodes that are occurrences, found by trying every assignment.
std::set<std::set<std::string>> all_by_brute_force(const Pattern& pattern,
                                                   const GraphIndex& index) {
  std::set<std::set<std::string>> found;
  std::vector<const fx::Node*> chosen;
  const auto bound = [&](const std::string& name) {
    return name == kAnything ? nullptr : chosen[pattern.find(name)];
  };
  const auto is_right = [&](size_t i) {
    const PatternNode& wanted = pattern.nodes()[i];
    const NodeView& view = index.view(*chosen[i]);
    const bool right_operator = wanted.operators.empty() ||
                                std::any_of(wanted.operators.begin(), wanted.operators.end(),
                                            [&](const std::string& name) { return view.is(name); });
    const auto& users = chosen[i]->users();
    const bool closed =
        wanted.users == Users::Free || std::all_of(users.begin(), users.end(), [&](auto* user) {
          return std::find(chosen.begin(), chosen.end(), user) != chosen.end();
        });
    return right_operator && closed && inputs_fit(wanted, view, bound);
  };
  const std::function<void()> extend = [&] {
    if (chosen.size() == pattern.nodes().size()) {
      for (size_t i = 0; i < chosen.size(); ++i) {
        if (!is_right(i)) return;
      }
      std::set<std::string> names;
      for (const fx::Node* node : chosen) names.insert(node->name());
      found.insert(names);
      return;
    }
    for (const fx::Node* node : index.nodes()) {
      if (std::find(chosen.begin(), chosen.end(), node) != chosen.end()) continue;
      chosen.push_back(node);
      extend();
      chosen.pop_back();
    }
  };
  extend();
  return found;
}

class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : engine_(seed) {}

  std::unique_ptr<fx::GraphModule> model() {
    auto graph = std::make_unique<fx::Graph>();
    std::vector<fx::Node*> nodes = {&graph->placeholder("x")};
    for (int i = 0; i < 6; ++i) {
      const auto any = [&]() -> fx::Value { return *nodes[pick(nodes.size())]; };
      switch (pick(4)) {
        case 0:
          nodes.push_back(&graph->call_function("torch.relu", {any()}));
          break;
        case 1:
          nodes.push_back(&graph->call_function("torch.tanh", {any()}));
          break;
        case 2:
          nodes.push_back(&graph->call_function("torch.add", {any(), any()}));
          break;
        default:
          nodes.push_back(&graph->call_function("torch.cat", {fx::List({any(), any(), any()})}));
      }
    }
    graph->output(*nodes.back());
    return std::make_unique<fx::GraphModule>(std::move(graph), "Model");
  }

  Pattern pattern() {
    std::vector<PatternNode> nodes;
    const std::vector<std::string> names = {"a", "b", "c"};
    const size_t size = 1 + pick(names.size());
    for (size_t i = 0; i < size; ++i) {
      PatternNode node{.name = names[i]};
      if (i == 0 && pick(3) == 0) {  // any node
        nodes.push_back(node);
        continue;
      }
      const std::vector<std::string> operators = {"relu", "tanh", "add", "cat"};
      node.operators = {operators[pick(4)]};
      if (pick(3) == 0) node.operators.push_back(operators[pick(4)]);
      for (size_t k = pick(3) + (i > 0); i > 0 && k > 0; --k)
        node.inputs.push_back(pick(4) == 0 ? kAnything : names[pick(i)]);
      node.order = std::vector{InputOrder::Exact, InputOrder::Any, InputOrder::Subset}[pick(3)];
      node.users = pick(3) == 0 ? Users::Inside : Users::Free;
      nodes.push_back(node);
    }
    return Pattern(std::move(nodes));
  }

 private:
  size_t pick(size_t count) { return engine_() % count; }
  std::mt19937 engine_;
};

TEST(Matcher, FindsWhatTryingEverythingFinds) {
  int compared = 0;
  size_t matches = 0;
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    RandomGraph random(seed);
    const auto module = random.model();
    std::optional<Pattern> pattern;
    try {
      pattern = random.pattern();
    } catch (const Error&) {
      continue;  // its nodes are not connected
    }
    const GraphIndex index(*module);
    std::set<std::set<std::string>> found;
    for (const Match& match : find_matches(*pattern, index)) {
      std::set<std::string> names;
      for (const fx::Node* node : match.nodes()) names.insert(node->name());
      EXPECT_TRUE(found.insert(names).second) << "twice the same, seed " << seed;
      EXPECT_TRUE(still_matches(*pattern, match, index));
    }
    ASSERT_EQ(found, all_by_brute_force(*pattern, index)) << "seed " << seed;
    ++compared;
    matches += found.size();
  }
  EXPECT_GT(compared, 1500);
  EXPECT_GT(matches, 1500u);
}

}  // namespace
}  // namespace sparsebit::passes::matcher_test
