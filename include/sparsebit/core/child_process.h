#pragma once

#include "sparsebit/core/error.h"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit {

struct SpawnedProcess;

/// Limits of a program, which is stopped when it exceeds one.
struct ChildProcessLimits {
  double seconds = 600;                    ///< for an answer, counted from its question
  size_t line_bytes = 64'000'000;          ///< of a line, and of output that is not read yet
  size_t errors_bytes = size_t{64} << 10;  ///< the end of its standard error that is kept
  double seconds_to_end = 2;               ///< between SIGTERM and SIGKILL in the destructor
  std::string remedy = {};                 ///< what to do when `seconds` are over, for the message
};

/// A child process for request-response protocols: send() writes to its standard input, receive()
/// and receive_line() read its standard output. Not thread-safe.
///
/// It never outlives this process, even one that is killed. The kernel ties it to the *thread* that
/// created it, so that thread must outlive this object.
///
/// A program that breaks a limit is killed; that and its unexpected end are errors which all later
/// calls throw again.
class ChildProcess {
 public:
  using Limits = ChildProcessLimits;

  /// @param command      program, looked up in PATH, and its arguments.
  /// @param environment  variables set in addition to this process's own.
  /// Throws Io when the program cannot be started.
  explicit ChildProcess(const std::vector<std::string>& command,
                        const std::map<std::string, std::string>& environment = {},
                        Limits limits = {});
  /// Asks the process to end; kills it if it does not.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Begins a question: what is sent and received from now on has to be done within the time limit,
  /// or `seconds` if they are fewer.
  /// @param asked  what the program is asked to do, for messages: "load model.onnx".
  void begin(std::string asked);
  void begin(std::string asked, double seconds);

  /// Throws Io when the program has ended, TooLarge when it does not read in time. What it writes
  /// meanwhile is kept for receive().
  void send(const void* data, size_t size);
  void send(const std::string& text) { send(text.data(), text.size()); }

  /// The next line, without the newline. Throws Io, quoting the end of the program's standard
  /// error, when the program has ended; TooLarge when the line is too long or takes too long.
  std::string receive_line();
  /// Reads exactly `size` bytes. Throws as receive_line().
  void receive(void* data, size_t size);

  /// Kills the program, whose answers cannot be understood, and throws the error.
  [[noreturn]] void fail(const Error& error);

 private:
  using Clock = std::chrono::steady_clock;

  void check_usable() const;
  short wait_for(short events);
  void fill();
  size_t buffered() const { return received_.size() - read_; }
  bool read_errors();
  [[noreturn]] void fail_too_late();
  [[noreturn]] void fail_too_long();
  [[noreturn]] void fail_ended();
  std::string when_asked() const;
  std::string last_errors() const;
  std::string wait_for_end(double seconds);
  void kill();

  std::string name_;
  Limits limits_;
  std::unique_ptr<SpawnedProcess> process_;
  std::string asked_;
  double seconds_;              // of the current question
  Clock::time_point deadline_;  // of the current question
  std::string received_;        // buffered output
  size_t read_ = 0;             // bytes of received_ that were consumed
  std::string errors_;          // the end of its standard error
  std::optional<Error> failure_;
};

}  // namespace sparsebit
