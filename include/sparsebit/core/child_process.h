#pragma once

#include <map>
#include <string>
#include <vector>

namespace sparsebit {

/// Another program that answers questions: what is sent goes to its standard input, what it prints
/// comes back. It ends with this object. For one thread.
class ChildProcess {
 public:
  /// @param command      program, looked up in PATH, and its arguments.
  /// @param environment  variables that it has besides ours.
  /// Throws Io when there is no such program.
  explicit ChildProcess(const std::vector<std::string>& command,
                        const std::map<std::string, std::string>& environment = {});
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Throws Io when the program has ended.
  void send(const void* data, size_t size);
  void send(const std::string& text) { send(text.data(), text.size()); }

  /// The next line, without its end. Throws Io, with the end of what the program said on standard
  /// error, when there is none.
  std::string receive_line();
  /// Exactly this many bytes. Throws as receive_line().
  void receive(void* data, size_t size);

 private:
  [[noreturn]] void fail();
  void fill();

  std::string name_;
  int socket_ = -1;
  int errors_ = -1;  // a file in memory that holds its standard error
  int pid_ = -1;
  std::string received_;  // and not asked for yet
  size_t read_ = 0;       // of these
};

}  // namespace sparsebit
