#include "sparsebit/core/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace sparsebit::registry_test {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

Registry<int> numbers(const std::vector<std::string>& names) {
  Registry<int> registry("observer");
  for (const std::string& name : names) registry.add(name, static_cast<int>(registry.size()));
  return registry;
}

TEST(Registry, FindsWhatWasAdded) {
  const Registry<int> registry = numbers({"minmax", "mse"});

  EXPECT_EQ(registry.get("mse"), 1);
  ASSERT_NE(registry.find("minmax"), nullptr);
  EXPECT_EQ(*registry.find("minmax"), 0);
  EXPECT_EQ(registry.find("kl"), nullptr);
  EXPECT_TRUE(registry.contains("mse"));
  EXPECT_FALSE(registry.contains("ms"));
  EXPECT_EQ(registry.noun(), "observer");
}

TEST(Registry, NamesAreSorted) {
  const Registry<int> registry = numbers({"mse", "aciq", "minmax"});
  EXPECT_THAT(registry.names(), ElementsAre("aciq", "minmax", "mse"));
  EXPECT_EQ(registry.size(), 3u);
}

TEST(Registry, SecondEntryOfANameIsRefused) {
  Registry<int> registry = numbers({"minmax"});
  EXPECT_THAT([&] { registry.add("minmax", 7); },
              ThrowsMessage<Error>("observer 'minmax' is registered twice"));
  EXPECT_EQ(registry.get("minmax"), 0);
}

TEST(Registry, ReferencesSurviveLaterEntriesAndMoves) {
  Registry<int> registry("observer");
  int& first = registry.add("first", 1);
  for (int i = 0; i < 1000; ++i) registry.add("x" + std::to_string(i), i);
  const Registry<int> moved = std::move(registry);
  first = 5;
  EXPECT_EQ(moved.get("first"), 5);
}

TEST(Registry, HoldsFactories) {
  using Factory = std::function<std::unique_ptr<std::string>(int)>;
  Registry<Factory> registry("text");
  registry.add("stars", [](int n) { return std::make_unique<std::string>(n, '*'); });
  EXPECT_EQ(*registry.get("stars")(3), "***");
}

struct UnknownCase {
  const char* name;
  std::vector<std::string> known;
  const char* wanted;
  const char* message;
};

void PrintTo(const UnknownCase& c, std::ostream* out) { *out << c.name; }

class RegistryUnknown : public testing::TestWithParam<UnknownCase> {};

TEST_P(RegistryUnknown, SaysWhatIsKnown) {
  const UnknownCase& c = GetParam();
  const Registry<int> registry = numbers(c.known);
  try {
    registry.get(c.wanted);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), c.message);
    EXPECT_EQ(e.kind(), ErrorKind::InvalidArgument);
  }
}

const std::vector<std::string> kTwelve = {"a", "b", "c", "d", "e", "f",
                                          "g", "h", "i", "j", "k", "l"};
const std::vector<std::string> kThirteen = {"a", "b", "c", "d", "e", "f", "g",
                                            "h", "i", "j", "k", "l", "m"};
const UnknownCase kUnknown[] = {
    {"Near", {"minmax", "mse"}, "minmaxx", "unknown observer 'minmaxx'; did you mean 'minmax'?"},
    {"FewKnown", {"c", "a", "b"}, "zzz", "unknown observer 'zzz'; known: a, b, c"},
    {"TwelveKnown", kTwelve, "zzz",
     "unknown observer 'zzz'; known: a, b, c, d, e, f, g, h, i, j, k, l"},
    {"ManyKnown", kThirteen, "zzz", "unknown observer 'zzz'; 13 are known"},
    {"NoneKnown", {}, "zzz", "unknown observer 'zzz'; none are known"},
};
INSTANTIATE_TEST_SUITE_P(Cases, RegistryUnknown, testing::ValuesIn(kUnknown),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Registry, OtherNamesAreSuggestedAndNotFound) {
  Registry<int> registry = numbers({"minmax", "mse"});
  registry.suggest("absmax", "minmax");
  EXPECT_FALSE(registry.contains("absmax"));
  EXPECT_THAT([&] { registry.get("AbsMax"); },
              testing::ThrowsMessage<Error>("unknown observer 'AbsMax'; did you mean 'minmax'?"));
  EXPECT_EQ(registry.did_you_mean("mes"), "; did you mean 'mse'?");
  EXPECT_EQ(registry.did_you_mean("nothing like it"), "");
  EXPECT_THAT([&] { registry.suggest("x", "max"); },
              testing::ThrowsMessage<Error>("there is no observer 'max'"));
}

}  // namespace
}  // namespace sparsebit::registry_test
