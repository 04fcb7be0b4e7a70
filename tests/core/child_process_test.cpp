#include "sparsebit/core/child_process.h"

#include "sparsebit/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::child_process_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(ChildProcess, AnswersLinesAndBytes) {
  ChildProcess cat({"cat"});
  cat.send("one\ntwo\n");
  EXPECT_EQ(cat.receive_line(), "one");
  cat.send(std::string("\0\1\n", 3));
  EXPECT_EQ(cat.receive_line(), "two");
  std::string bytes(3, ' ');
  cat.receive(bytes.data(), bytes.size());
  EXPECT_EQ(bytes, std::string("\0\1\n", 3));
  cat.receive(nullptr, 0);
}

TEST(ChildProcess, LinesThatComeInPieces) {
  ChildProcess shell({"sh", "-c", "printf a; sleep 0.05; printf b; sleep 0.05; echo c; echo d"});
  EXPECT_EQ(shell.receive_line(), "abc");
  EXPECT_EQ(shell.receive_line(), "d");
}

TEST(ChildProcess, MoreThanAPipeHolds) {
  ChildProcess prints({"sh", "-c", "head -c 1048576 /dev/zero; echo end"});
  std::string received(1 << 20, 'x');
  prints.receive(received.data(), received.size());
  EXPECT_EQ(received, std::string(1 << 20, '\0'));
  EXPECT_EQ(prints.receive_line(), "end");
}

TEST(ChildProcess, HasVariablesBesidesOurs) {
  ChildProcess shell({"sh", "-c", "echo $GIVEN ${PATH:+path}"}, {{"GIVEN", "to it"}});
  EXPECT_EQ(shell.receive_line(), "to it path");
}

TEST(ChildProcess, AnEndIsAnErrorWithItsLastWords) {
  ChildProcess shell({"sh", "-c", "echo first; echo no memory >&2; exit 3"});
  EXPECT_EQ(shell.receive_line(), "first");
  EXPECT_THAT([&] { shell.receive_line(); },
              ThrowsMessage<Error>(HasSubstr("'sh' ended unexpectedly: no memory")));
  EXPECT_THAT(
      [&] {
        for (int i = 0; i < 100; ++i) shell.send(std::string(1 << 16, 'x'));
      },
      ThrowsMessage<Error>(HasSubstr("'sh' ended unexpectedly")));
}

TEST(ChildProcess, NoSuchProgram) {
  EXPECT_THAT([] { ChildProcess({"no-such-program"}); },
              ThrowsMessage<Error>("cannot start 'no-such-program': No such file or directory"));
}

}  // namespace
}  // namespace sparsebit::child_process_test
