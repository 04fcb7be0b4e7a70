#include "sparsebit/core/child_process.h"

#include "core/temp_dir.h"
#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <functional>

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
  ChildProcess shell({"sh", "-c", "echo first; printf 'no\\033 memory\\n' >&2; exit 3"});
  EXPECT_EQ(shell.receive_line(), "first");
  shell.begin("load m.onnx");
  EXPECT_THAT([&] { shell.receive_line(); },
              ThrowsMessage<Error>("'sh' ended unexpectedly (exit code 3) when asked to load "
                                   "m.onnx: no\\x1b memory"));
  EXPECT_THAT([&] { shell.send("x"); }, ThrowsMessage<Error>(HasSubstr("exit code 3")))
      << "the same error again";
}

TEST(ChildProcess, WritingToAnEndedProgramIsAnError) {
  ChildProcess shell({"sh", "-c", "kill -9 $$"});
  EXPECT_THAT(
      [&] {
        for (int i = 0; i < 100; ++i) shell.send(std::string(1 << 16, 'x'));
      },
      ThrowsMessage<Error>(HasSubstr("'sh' ended unexpectedly (signal 9)")));
}

TEST(ChildProcess, BothSidesMayWriteAtTheSameTime) {
  ChildProcess cat({"cat"});
  const std::string line(size_t{4} << 20, 'x');  // more than pipes and sockets hold
  cat.send(line + "\n");
  EXPECT_EQ(cat.receive_line(), line);
}

TEST(ChildProcess, StandardErrorNeverFills) {
  const std::string flood = "yes 'a warning' | head -c 1000000 >&2; ";
  ChildProcess shell({"sh", "-c", flood + "echo done; read line; echo the end >&2"}, {},
                     {.errors_bytes = 100});
  EXPECT_EQ(shell.receive_line(), "done");
  shell.send("go on\n");
  EXPECT_THAT([&] { shell.receive_line(); },
              ThrowsMessage<Error>(testing::AllOf(HasSubstr("(exit code 0): g a warning a warning"),
                                                  testing::EndsWith("the end"))));
}

// --- limits -------------------------------------------------------------------------------------

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Far more than a limit of the tests and far less than their programs run: a busy machine may be
/// slow.
constexpr double kSoon = 20;

/// Whether the error names the rule, and comes long before `program` ends, which has 0.2 s.
void expect_too_late(const std::string& program, const std::function<void(ChildProcess&)>& talk) {
  SCOPED_TRACE(program);
  ChildProcess process({"sh", "-c", program}, {}, {.seconds = 0.2, .remedy = "wait"});
  process.begin("work");
  const auto start = Clock::now();
  try {
    talk(process);
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::TooLarge);
    EXPECT_THAT(e.what(), HasSubstr("'sh' did not answer within 0.2 s when asked to work and was "
                                    "stopped; wait"));
  }
  EXPECT_LT(seconds_since(start), kSoon);
  const auto again = Clock::now();
  EXPECT_THROW(process.receive_line(), Error);
  EXPECT_LT(seconds_since(again), kSoon) << "it was stopped";
}

void expect_line(ChildProcess& process) { process.receive_line(); }

TEST(ChildProcess, NoAnswerInTimeIsAnError) {
  expect_too_late("exec sleep 60", expect_line);
  expect_too_late("while :; do printf x; sleep 0.05; done", expect_line);
  expect_too_late("exec yes >&2", expect_line);
  expect_too_late("exec sleep 60", [](ChildProcess& process) {
    std::string bytes(10, ' ');
    process.receive(bytes.data(), bytes.size());
  });
  expect_too_late("exec sleep 60",
                  [](ChildProcess& process) { process.send(std::string(size_t{8} << 20, 'x')); });
}

TEST(ChildProcess, EachQuestionHasItsOwnTime) {
  ChildProcess shell({"sh", "-c", "for i in 1 2 3; do sleep 1.5; echo $i; read line; done"}, {},
                     {.seconds = 4});
  for (const char* answer : {"1", "2", "3"}) {
    shell.begin("count");
    EXPECT_EQ(shell.receive_line(), answer);
    shell.send("\n");
  }
}

TEST(ChildProcess, AQuestionNeverHasMoreThanTheLimit) {
  ChildProcess shell({"sh", "-c", "exec sleep 60"}, {}, {.seconds = 0.2});
  shell.begin("work", 100);
  EXPECT_THAT([&] { shell.receive_line(); }, ThrowsMessage<Error>(HasSubstr("within 0.2 s")));
}

TEST(ChildProcess, EndlessOutputIsAnError) {
  ChildProcess line({"sh", "-c", "exec cat /dev/zero"}, {}, {.line_bytes = 1'000'000});
  EXPECT_THAT([&] { line.receive_line(); },
              ThrowsMessage<Error>("'sh' exceeded the output limit of 1 MB and was stopped"));
  ChildProcess flood({"sh", "-c", "exec yes"}, {}, {.line_bytes = 1'000'000});
  EXPECT_THAT([&] { flood.send(std::string(size_t{8} << 20, 'x')); },
              ThrowsMessage<Error>("'sh' exceeded the output limit of 1 MB and was stopped"));
}

TEST(ChildProcess, APoliteProgramMayEndByItself) {
  const test::TempDir dir;
  const std::string file = dir / "ended";
  const auto start = Clock::now();
  {
    ChildProcess shell({"sh", "-c",
                        "trap 'echo yes >" + file +
                            "; exit' TERM; echo; while :; do "
                            "sleep 0.02; done"},
                       {}, {.seconds_to_end = 60});
    shell.receive_line();
  }
  EXPECT_EQ(read_file(file), "yes\n");
  EXPECT_LT(seconds_since(start), kSoon);
}

TEST(ChildProcess, AProgramThatDoesNotEndIsKilled) {
  const auto start = Clock::now();
  pid_t pid = 0;
  {
    ChildProcess shell({"sh", "-c", "trap '' TERM; echo $$; while :; do sleep 0.05; done"}, {},
                       {.seconds_to_end = 0.2});
    pid = std::stoi(shell.receive_line());
  }
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_GT(seconds_since(start), 0.2);
  EXPECT_LT(seconds_since(start), kSoon);
}

TEST(ChildProcess, NoSuchProgram) {
  EXPECT_THAT([] { ChildProcess({"no-such-program"}); },
              ThrowsMessage<Error>("cannot start 'no-such-program': No such file or directory"));
}

}  // namespace
}  // namespace sparsebit::child_process_test
