#include "cli/option_values.h"

#include "cli/application.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

#include <map>
#include <sstream>

namespace sparsebit::cli::test::option_values_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

class OptionValuesOf : public ::testing::Test {
 protected:
  OptionValues of(const char* command, const char* option) const {
    return option_values(*app_->get_subcommand(command)->get_option(option));
  }

  std::ostringstream out_;
  std::unique_ptr<CLI::App> app_ = make_application(out_);
};

/// "TEXT" is CLI11's name for a string whose kind is not declared.
TEST_F(OptionValuesOf, EveryStringOptionDeclaresItsKind) {
  for (const CLI::App* command : app_->get_subcommands([](const CLI::App*) { return true; })) {
    for (const CLI::Option* option : command->get_options())
      EXPECT_NE(option->get_type_name(), "TEXT")
          << command->get_name() << " " << option->get_name();
  }
}

TEST_F(OptionValuesOf, FreeTextHasNoCompletion) {
  for (const char* option : {"--max-memory", "--shape", "--exclude", "--input", "--seed"}) {
    EXPECT_THAT(of("quantize", option).words, IsEmpty()) << option;
    EXPECT_FALSE(of("quantize", option).is_file) << option;
  }
}

TEST_F(OptionValuesOf, FilesAndModels) {
  for (const char* option : {"--config", "--data", "--labels", "--output", "--decisions"})
    EXPECT_TRUE(of("quantize", option).is_file) << option;
  EXPECT_FALSE(of("quantize", "--output").is_model);
  EXPECT_TRUE(of("quantize", "model").is_model);
  EXPECT_TRUE(of("certify", "--against").is_model);
}

TEST_F(OptionValuesOf, Words) {
  EXPECT_THAT(of("quantize", "--format").words, ElementsAre("qdq", "qoperator"));
  EXPECT_THAT(of("deploy", "--format").words, Contains("qnn_encodings"));
  EXPECT_THAT(of("inspect", "--without").words, Contains("fuse_bn"));
  EXPECT_THAT(of("data", "--show-preprocess").words, Contains("list"));
  EXPECT_FALSE(of("data", "--show-preprocess").is_file);
  EXPECT_THAT(of("data", "--preprocess").words, Contains("imagenet"));
  EXPECT_TRUE(of("data", "--preprocess").is_file);
}

/// `config snpe` and `config --platform snpe`.
TEST_F(OptionValuesOf, ArgumentsThatAreAlsoOptions) {
  const std::map<const char*, const char*> both = {{"config", "--platform"},
                                                   {"platforms", "--show"}};
  for (const auto& [command, option] : both) {
    EXPECT_THAT(of(command, option).words, Contains("snpe"));
    EXPECT_TRUE(of(command, option).is_file);
    EXPECT_THAT(names_of(*app_->get_subcommand(command)->get_option(option)), ElementsAre(option));
  }
}

}  // namespace
}  // namespace sparsebit::cli::test::option_values_test
