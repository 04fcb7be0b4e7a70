#include "cli/error_text.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace sparsebit::cli::error_text_test {
namespace {

using nlohmann::json;

template <class Run>
std::string text_of(const Run& run) {
  try {
    run();
  } catch (const std::exception& e) {
    return error_text(e);
  }
  return "no error";
}

TEST(ErrorText, HasNoMarksOfTheJsonLibrary) {
  const json number = 1;
  EXPECT_EQ(text_of([&] { static_cast<void>(number.get<std::string>()); }),
            "wrong JSON: type must be string, but is number");
  EXPECT_EQ(text_of([&] { static_cast<void>(json::object().at("x")); }),
            "wrong JSON: key 'x' not found");
  EXPECT_EQ(text_of([&] { static_cast<void>(json("\xFF").dump()); }),
            "a name or text is not UTF-8, as JSON has to be");
  EXPECT_EQ(in_our_words("m.pt: [json.exception.type_error.302] type must be string\nat x"),
            "m.pt: wrong JSON: type must be string\nat x");
}

TEST(ErrorText, OtherTextsStay) {
  EXPECT_EQ(in_our_words("a [b] c"), "a [b] c");
  EXPECT_EQ(error_text(std::bad_alloc()), "there is not enough memory");
}

}  // namespace
}  // namespace sparsebit::cli::error_text_test
