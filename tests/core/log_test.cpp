#include "sparsebit/core/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sparsebit::log_test {
namespace {

using testing::ElementsAre;

class Log : public testing::Test {
 protected:
  void TearDown() override {
    set_log_sink({});
    set_log_level(LogLevel::Warning);
  }

  void record() {
    set_log_sink([this](LogLevel level, std::string_view text) {
      messages_.push_back(std::to_string(static_cast<int>(level)) + " " + std::string(text));
    });
  }

  static void log_one_of_each() {
    log_debug("d{}", 0);
    log_info("i{}", 1);
    log_warning("w{}", 2);
    log_error("e{}", 3);
  }

  std::vector<std::string> messages_;
};

TEST_F(Log, LibraryDefaultIsWarning) {
  record();
  log_one_of_each();
  EXPECT_EQ(log_level(), LogLevel::Warning);
  EXPECT_THAT(messages_, ElementsAre("2 w2", "3 e3"));
}

TEST_F(Log, LevelDecidesWhatPasses) {
  const std::vector<std::string> all = {"0 d0", "1 i1", "2 w2", "3 e3"};
  for (size_t level = 0; level <= 4; ++level) {
    messages_.clear();
    record();
    set_log_level(static_cast<LogLevel>(level));
    log_one_of_each();
    EXPECT_EQ(messages_,
              std::vector<std::string>(all.begin() + static_cast<int>(level), all.end()));
    EXPECT_EQ(log_level(), static_cast<LogLevel>(level));
  }
}

TEST_F(Log, GoesToStderrWithItsLevel) {
  set_log_level(LogLevel::Debug);
  testing::internal::CaptureStderr();
  log_one_of_each();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "[debug] d0\n[info] i1\n[warning] w2\n[error] e3\n");
}

TEST_F(Log, EmptySinkGoesBackToStderr) {
  record();
  set_log_sink({});
  testing::internal::CaptureStderr();
  log_warning("text");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[warning] text\n");
  EXPECT_THAT(messages_, testing::IsEmpty());
}

TEST_F(Log, SinkReplacesStderr) {
  record();
  testing::internal::CaptureStderr();
  log_warning("text");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(messages_, ElementsAre("2 text"));
}

TEST_F(Log, BracesAndPercentSignsInValuesAreText) {
  testing::internal::CaptureStderr();
  log_warning("{}", "{} %v {0:x}");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[warning] {} %v {0:x}\n");
}

TEST_F(Log, SinkMayLogAndReplaceItself) {
  set_log_sink([this](LogLevel, std::string_view) {
    record();
    log_error("from the sink");
  });
  log_warning("text");
  EXPECT_THAT(messages_, ElementsAre("3 from the sink"));
}

}  // namespace
}  // namespace sparsebit::log_test
