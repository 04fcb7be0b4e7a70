#include "sparsebit/core/child_process.h"

#include "sparsebit/core/error.h"

#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

extern char** environ;

namespace sparsebit {
namespace {

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

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command,
                           const std::map<std::string, std::string>& environment)
    : name_(command.front()) {
  std::array<int, 2> ends;
  SPARSEBIT_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0, Io,
                  "cannot create a socket for '", name_, "': ", std::strerror(errno));
  socket_ = ends[0];
  errors_ = memfd_create("standard error", MFD_CLOEXEC);
  if (errors_ < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    throw Error(ErrorKind::Io, c10::str("cannot capture the standard error of '", name_,
                                        "': ", std::strerror(errno)));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, errors_, 2);
  std::vector<std::string> words = command, variables = environment_with(environment);
  const int error = posix_spawnp(&pid_, name_.c_str(), &actions, nullptr, pointers_to(words).data(),
                                 pointers_to(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error == 0) return;
  ::close(socket_);
  ::close(errors_);
  throw Error(ErrorKind::Io, c10::str("cannot start '", name_, "': ", std::strerror(error)));
}

ChildProcess::~ChildProcess() {
  ::close(socket_);  // end of input: the process ends unless it hangs
  ::close(errors_);
  ::kill(pid_, SIGTERM);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void ChildProcess::send(const void* data, size_t size) {
  const char* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = ::send(socket_, bytes, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) fail();
    bytes += sent;
    size -= static_cast<size_t>(sent);
  }
}

std::string ChildProcess::receive_line() {
  for (size_t searched = read_;;) {
    const size_t end = received_.find('\n', searched);
    if (end != std::string::npos) {
      std::string line = received_.substr(read_, end - read_);
      read_ = end + 1;
      return line;
    }
    const size_t waiting = received_.size() - read_;
    fill();
    searched = read_ + waiting;
  }
}

void ChildProcess::receive(void* data, size_t size) {
  if (size == 0) return;
  char* bytes = static_cast<char*>(data);
  const size_t waiting = std::min(size, received_.size() - read_);
  std::memcpy(bytes, received_.data() + read_, waiting);
  read_ += waiting;
  for (size_t have = waiting; have < size;) {
    const ssize_t got = ::recv(socket_, bytes + have, size - have, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail();
    have += static_cast<size_t>(got);
  }
}

/// Discards consumed output and reads more.
void ChildProcess::fill() {
  received_.erase(0, read_);
  read_ = 0;
  std::array<char, 65536> buffer;
  ssize_t got;
  do {
    got = ::recv(socket_, buffer.data(), buffer.size(), 0);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) fail();
  received_.append(buffer.data(), static_cast<size_t>(got));
}

void ChildProcess::fail() {
  constexpr off_t kShown = 400;
  const off_t size = ::lseek(errors_, 0, SEEK_END);
  std::string text(static_cast<size_t>(std::min(size, kShown)), '\0');
  if (::pread(errors_, text.data(), text.size(), std::max<off_t>(0, size - kShown)) < 0) text = "";
  std::replace(text.begin(), text.end(), '\n', ' ');
  throw Error(ErrorKind::Io,
              c10::str("'", name_, "' ended unexpectedly", text.empty() ? "" : ": ", text));
}

}  // namespace sparsebit
