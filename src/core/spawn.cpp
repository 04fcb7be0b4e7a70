#include "core/spawn.h"

#include "sparsebit/core/error.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

extern char** environ;

namespace sparsebit {
namespace {

[[noreturn]] void fail_to_start(const std::string& name, int error) {
  throw Error(ErrorKind::Io, c10::str("cannot start '", name, "': ", std::strerror(error)));
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& more) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!more.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : more) all.push_back(name + "=" + value);
  return all;
}

/// The file of a program, by PATH as a shell finds it: execvp() may not be called after a fork.
std::string file_of(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path);
  int error = ENOENT;
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + name;
    std::error_code none;
    if (!std::filesystem::is_regular_file(file, none)) continue;
    if (::access(file.c_str(), X_OK) == 0) return file;
    error = EACCES;
  }
  fail_to_start(name, error);
}

/// A copy with a number above 2: a descriptor is 0 to 2 when our standard streams are closed.
Descriptor above_standard(int fd) {
  const Descriptor given(fd);
  return Descriptor(fd < 0 ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

using Ends = std::array<Descriptor, 2>;

Ends open_ends(const std::string& name, bool both_ways) {
  std::array<int, 2> fds = {-1, -1};
  const int result = both_ways ? ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data())
                               : ::pipe2(fds.data(), O_CLOEXEC);
  const int error = errno;
  Ends ends = {above_standard(fds[0]), above_standard(fds[1])};
  if (result != 0) fail_to_start(name, error);
  if (!ends[0].is_open() || !ends[1].is_open()) fail_to_start(name, EMFILE);
  return ends;
}

/// Everything the child needs between fork and exec. Only calls that are safe in a signal handler
/// are allowed there, since a thread that does not exist in the child may hold any lock.
struct Start {
  const char* file;
  char** arguments;
  char** environment;
  int socket, errors, failure;  // descriptors
  pid_t parent;
  sigset_t signals;  // blocked before

  [[noreturn]] void run() const {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);  // it has ended in the meantime
    ::setpgid(0, 0);  // Ctrl-C reaches only us: where it is ignored, the child must not end by it
    stop_handling_signals();
    const bool connected = ::dup2(socket, STDIN_FILENO) >= 0 &&
                           ::dup2(socket, STDOUT_FILENO) >= 0 && ::dup2(errors, STDERR_FILENO) >= 0;
    if (connected) ::execve(file, arguments, environment);
    const int error = errno;
    [[maybe_unused]] const ssize_t told = ::write(failure, &error, sizeof error);
    ::_exit(1);
  }

  /// Our handlers remove our unfinished files; the child must not.
  void stop_handling_signals() const {
    for (int number = 1; number < NSIG; ++number) {
      struct sigaction action{};
      if (::sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
      action = {};
      action.sa_handler = SIG_DFL;
      ::sigaction(number, &action, nullptr);
    }
    ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  }
};

/// _Fork() calls none of the functions that libraries register with pthread_atfork(): OpenBLAS
/// ends its threads there.
pid_t fork_and_run(Start& start) {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &start.signals);
  start.parent = ::getpid();
  const pid_t pid = ::_Fork();
  const int error = errno;
  if (pid == 0) start.run();
  ::pthread_sigmask(SIG_SETMASK, &start.signals, nullptr);
  errno = error;
  return pid;
}

/// The errno of the child's exec; 0 when it was successful, which closes the pipe.
int failure_of_exec(int pipe) {
  int error = 0;
  ssize_t got;
  do {
    got = ::read(pipe, &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  return got == sizeof error ? error : 0;
}

}  // namespace

SpawnedProcess spawn(const std::vector<std::string>& command,
                     const std::map<std::string, std::string>& environment) {
  const std::string& name = command.front();
  const std::string file = file_of(name);
  std::vector<std::string> words = command, variables = environment_with(environment);
  const std::vector<char*> arguments = pointers_to(words), settings = pointers_to(variables);
  Ends talk = open_ends(name, true), errors = open_ends(name, false),
       failure = open_ends(name, false);
  Start start{.file = file.c_str(),
              .arguments = const_cast<char**>(arguments.data()),
              .environment = const_cast<char**>(settings.data()),
              .socket = talk[1].get(),
              .errors = errors[1].get(),
              .failure = failure[1].get(),
              .parent = 0,
              .signals = {}};
  const pid_t pid = fork_and_run(start);
  if (pid < 0) fail_to_start(name, errno);
  failure[1].close();
  if (const int error = failure_of_exec(failure[0].get())) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    fail_to_start(name, error);
  }
  ::fcntl(errors[0].get(), F_SETFL, O_NONBLOCK);
  return {pid, std::move(talk[0]), std::move(errors[0])};
}

}  // namespace sparsebit
