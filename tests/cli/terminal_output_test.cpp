#include "cli/terminal_output.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>
#include <string>

namespace sparsebit::cli::test::terminal_output_test {
namespace {

TEST(PrintableStream, ControlCharactersAreEscaped) {
  std::ostringstream target;
  PrintableStream stream(target);
  stream << "name\x1b[2J\tgrün\n" << 3 << '\x07' << std::flush;
  EXPECT_EQ(target.str(), "name\\x1b[2J\tgrün\n3\\x07");
}

TEST(PrintableStream, CharactersMayComeByteByByte) {
  std::ostringstream target;
  PrintableStream stream(target);
  for (const char byte : std::string("ü🙂\xe2\x80\xae\r\n\xff")) stream.put(byte);
  stream.flush();
  EXPECT_EQ(target.str(), "ü🙂\\u202e\r\n\\xff");
}

TEST(PrintableStream, DestroyingItWritesTheRest) {
  std::ostringstream target;
  { PrintableStream(target) << "cut \xc3"; }
  EXPECT_EQ(target.str(), "cut \\xc3");
}

TEST(PrintableStream, FailuresOfTheTargetAreItsOwn) {
  std::ostringstream target;
  target.setstate(std::ios::badbit);
  PrintableStream stream(target);
  stream << "text" << std::flush;
  EXPECT_FALSE(stream);
}

/// Colours are forced, because a test has no terminal.
class Coloured : public testing::Test {
 protected:
  void SetUp() override {
    const char* before = std::getenv("NO_COLOR");
    no_colour_ = before ? before : "";
    unsetenv("NO_COLOR");
    setenv("CLICOLOR_FORCE", "1", 1);
  }
  void TearDown() override {
    unsetenv("CLICOLOR_FORCE");
    if (!no_colour_.empty()) setenv("NO_COLOR", no_colour_.c_str(), 1);
  }

  std::string no_colour_;
  std::ostringstream target_;
};

TEST_F(Coloured, VerdictsOfCertificates) {
  PrintableStream stream(target_);
  stream << "certificate: pas"
         << "sed (3 samples)\ncertificate: FAILED (1 sample)\n"
         << "  passed\ncertificate: INCOMPLETE\n{\"verdict\": \"passed\"}\n"
         << std::flush;
  EXPECT_EQ(target_.str(),
            "certificate: \x1b[32mpassed\x1b[0m (3 samples)\n"
            "certificate: \x1b[31mFAILED\x1b[0m (1 sample)\n"
            "  passed\ncertificate: INCOMPLETE\n{\"verdict\": \"passed\"}\n");
}

TEST_F(Coloured, OneWordOfMessages) {
  write_error(target_, "no such file");
  write_warning(target_, "a\x1b[0mb\nc");
  EXPECT_EQ(target_.str(),
            "\x1b[31merror:\x1b[0m no such file\n\x1b[33mwarning:\x1b[0m a\\x1b[0mb\\nc\n");
}

TEST(Plain, MessagesToFilesHaveNoColours) {
  std::ostringstream target;
  write_error(target, "no such file");
  write_warning(target, std::string(3000, 'x'));
  PrintableStream(target) << "certificate: passed\n";
  EXPECT_EQ(target.str(), "error: no such file\nwarning: " + std::string(2000, 'x') +
                              "... (1000 more characters)\ncertificate: passed\n");
}

}  // namespace
}  // namespace sparsebit::cli::test::terminal_output_test
