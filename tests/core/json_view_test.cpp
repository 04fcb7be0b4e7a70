#include "sparsebit/core/json_view.h"

#include <gmock/gmock.h>

namespace sparsebit::json_view_test {
namespace {

using Json = nlohmann::json;
using View = JsonView<Json>;

template <class Read>
std::string error_of(const std::string& text, const Read& read) {
  try {
    const Json json = parse_json<Json>(text, "f.json", ErrorKind::InvalidArgument);
    read(View(json, "f.json", ErrorKind::InvalidArgument));
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::InvalidArgument);
    return e.what();
  }
  return "no error";
}

TEST(JsonView, ReadsWhatIsThere) {
  const Json json = Json::parse(R"({"a": [1, 2.0, -3], "b": {"c": "x", "d": null}, "e": true})");
  const View view(json, "f.json", ErrorKind::InvalidArgument);
  EXPECT_THAT(view["a"].numbers(), testing::ElementsAre(1, 2, -3));
  EXPECT_EQ(view["a"].items()[1].integer(), 2);
  EXPECT_EQ(view["a"].items()[2].integer<int>(), -3);
  EXPECT_EQ(view["b"]["c"].text(), "x");
  EXPECT_FALSE(view["b"].find("d"));
  EXPECT_FALSE(view.find("f"));
  EXPECT_TRUE(view.find("e")->flag());
  EXPECT_EQ(view["b"].entries().front().second.place(), "b.c");
}

TEST(JsonView, ErrorsNameFilePlaceAndTypes) {
  const std::string text =
      R"({"a": [1, {"b": "x"}], "n": 3000000000, "f": 1.5, "o": {}, "z": 1e30, "minus": -1.0})";
  const auto error = [&](const auto& read) { return error_of(text, read); };
  EXPECT_EQ(error([](const View& v) { v["a"].items()[1]["b"].number(); }),
            "f.json: a[1].b: expected a number, found a string");
  EXPECT_EQ(error([](const View& v) { v["a"].items()[1]["c"].number(); }),
            "f.json: a[1]: the key 'c' is missing");
  EXPECT_EQ(error([](const View& v) { v["c"].number(); }), "f.json: the key 'c' is missing");
  EXPECT_EQ(error([](const View& v) { v["a"]["b"].number(); }),
            "f.json: a: expected an object, found a list");
  EXPECT_EQ(error([](const View& v) { v["o"].items(); }),
            "f.json: o: expected a list, found an object");
  EXPECT_EQ(error([](const View& v) { v["n"].integer<int>(); }),
            "f.json: n: the number is too large");
  EXPECT_EQ(error([](const View& v) { v["minus"].integer<unsigned>(); }),
            "f.json: minus: the number is too large");
  EXPECT_EQ(error([](const View& v) { v["z"].integer(); }), "f.json: z: the number is too large");
  EXPECT_EQ(error([](const View& v) { v["f"].integer(); }),
            "f.json: f: expected a whole number, found a fraction");
  EXPECT_EQ(error([](const View& v) { v["n"].text(); }),
            "f.json: n: expected a string, found a whole number");
}

TEST(JsonView, InvalidJsonIsAnErrorWithItsLine) {
  const auto none = [](const View&) {};
  EXPECT_EQ(error_of("{\"a\": 1,\n\"b\" 2}", none), "f.json:2: not valid JSON");
  EXPECT_EQ(error_of("", none), "f.json:1: not valid JSON");
  EXPECT_EQ(error_of("1e999999", none), "f.json:1: not valid JSON");
  EXPECT_EQ(error_of("\"\xFF\"", none), "f.json:1: not valid JSON");
}

}  // namespace
}  // namespace sparsebit::json_view_test
