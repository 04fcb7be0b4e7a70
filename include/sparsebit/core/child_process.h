#pragma once

#include <map>
#include <string>
#include <vector>

namespace sparsebit {

/// A child process for request-response protocols: send() writes to its standard input, receive()
/// and receive_line() read its standard output. The destructor terminates it. Not thread-safe.
class ChildProcess {
 public:
  /// @param command      program, looked up in PATH, and its arguments.
  /// @param environment  variables set in addition to this process's own.
  /// Throws Io when the program cannot be started.
  explicit ChildProcess(const std::vector<std::string>& command,
                        const std::map<std::string, std::string>& environment = {});
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Throws Io when the program has ended.
  void send(const void* data, size_t size);
  void send(const std::string& text) { send(text.data(), text.size()); }

  /// The next line, without the newline. Throws Io, quoting the end of the program's standard
  /// error, when the program has ended.
  std::string receive_line();
  /// Reads exactly `size` bytes. Throws as receive_line().
  void receive(void* data, size_t size);

 private:
  [[noreturn]] void fail();
  void fill();

  std::string name_;
  int socket_ = -1;
  int errors_ = -1;  // an in-memory file that collects its standard error
  int pid_ = -1;
  std::string received_;  // buffered output
  size_t read_ = 0;       // bytes of received_ that were consumed
};

}  // namespace sparsebit
