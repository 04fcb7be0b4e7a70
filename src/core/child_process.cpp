#include "sparsebit/core/child_process.h"

#include "core/spawn.h"
#include "sparsebit/core/memory_limit.h"
#include "sparsebit/core/printable_text.h"

#include <fmt/format.h>

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <thread>

namespace sparsebit {
namespace {

constexpr size_t kChunk = 65536;

std::chrono::nanoseconds duration_of(double seconds) {
  constexpr double kLongest = 1e9;  // thirty years; more might overflow
  return std::chrono::nanoseconds(static_cast<int64_t>(std::min(seconds, kLongest) * 1e9));
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command,
                           const std::map<std::string, std::string>& environment, Limits limits)
    : name_(command.front()),
      limits_(std::move(limits)),
      process_(std::make_unique<SpawnedProcess>(spawn(command, environment))) {
  begin("");
}

ChildProcess::~ChildProcess() {
  if (process_->pid < 0) return;
  process_->socket.close();  // end of input: the process ends unless it hangs
  process_->errors.close();
  ::kill(process_->pid, SIGTERM);
  wait_for_end(limits_.seconds_to_end);
  kill();
}

void ChildProcess::begin(std::string asked) { begin(std::move(asked), limits_.seconds); }

void ChildProcess::begin(std::string asked, double seconds) {
  asked_ = std::move(asked);
  seconds_ = std::min(seconds, limits_.seconds);
  deadline_ = Clock::now() + duration_of(seconds_);
}

void ChildProcess::send(const void* data, size_t size) {
  check_usable();
  const char* bytes = static_cast<const char*>(data);
  while (size > 0) {
    // A process that writes before it has read everything must not wait for us.
    const short ready = wait_for(POLLIN | POLLOUT);
    if ((ready & POLLOUT) == 0) {
      fill();
      if (buffered() > limits_.line_bytes) fail_too_long();
      continue;
    }
    const ssize_t sent = ::send(process_->socket.get(), bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent < 0) fail_ended();
    bytes += sent;
    size -= static_cast<size_t>(sent);
  }
}

std::string ChildProcess::receive_line() {
  check_usable();
  for (size_t searched = read_;;) {
    const size_t end = received_.find('\n', searched);
    const size_t length = (end == std::string::npos ? received_.size() : end) - read_;
    if (length > limits_.line_bytes) fail_too_long();
    if (end != std::string::npos) {
      std::string line = received_.substr(read_, length);
      read_ = end + 1;
      return line;
    }
    wait_for(POLLIN);
    fill();
    searched = read_ + length;
  }
}

void ChildProcess::receive(void* data, size_t size) {
  if (size == 0) return;
  check_usable();
  char* bytes = static_cast<char*>(data);
  size_t have = std::min(size, buffered());
  std::memcpy(bytes, received_.data() + read_, have);
  read_ += have;
  while (have < size) {
    wait_for(POLLIN);
    const ssize_t got = ::recv(process_->socket.get(), bytes + have, size - have, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) fail_ended();
    have += static_cast<size_t>(got);
  }
}

void ChildProcess::check_usable() const {
  if (failure_) throw *failure_;
}

/// Waits until one of the events is there, or the end of the process. Reads its standard error
/// meanwhile: it must not wait for us with that either.
short ChildProcess::wait_for(short events) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
    if (left.count() <= 0) fail_too_late();
    std::array<pollfd, 2> ends = {{{process_->socket.get(), events, 0},  //
                                   {process_->errors.get(), POLLIN, 0}}};
    constexpr int64_t kLongest = 1'000'000'000;
    const int ready = ::poll(ends.data(), ends.size(),
                             static_cast<int>(std::min<int64_t>(left.count(), kLongest)));
    SPARSEBIT_CHECK(ready >= 0 || errno == EINTR, Io, "cannot wait for '", name_,
                    "': ", std::strerror(errno));
    if (ready <= 0) continue;
    if (ends[1].revents != 0) read_errors();
    if (ends[0].revents != 0) return ends[0].revents;
  }
}

/// Discards consumed output and reads more.
void ChildProcess::fill() {
  received_.erase(0, read_);
  read_ = 0;
  std::array<char, kChunk> buffer;
  const ssize_t got = ::recv(process_->socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) fail_ended();
  received_.append(buffer.data(), static_cast<size_t>(got));
}

/// Keeps the end of what is there of its standard error. False when there is no more now.
bool ChildProcess::read_errors() {
  std::array<char, kChunk> buffer;
  const ssize_t got = ::read(process_->errors.get(), buffer.data(), buffer.size());
  if (got < 0 && errno == EINTR) return true;
  if (got < 0 && errno == EAGAIN) return false;
  if (got <= 0) {
    process_->errors.close();
    return false;
  }
  errors_.append(buffer.data(), static_cast<size_t>(got));
  if (errors_.size() > limits_.errors_bytes)
    errors_.erase(0, errors_.size() - limits_.errors_bytes);
  return true;
}

// --- failures -----------------------------------------------------------------------------------

void ChildProcess::fail(const Error& error) {
  kill();
  failure_ = error;
  throw *failure_;
}

void ChildProcess::fail_too_late() {
  const bool has_remedy = !limits_.remedy.empty() && seconds_ >= limits_.seconds;
  const std::string remedy = has_remedy ? "; " + limits_.remedy : "";
  fail(Error(ErrorKind::TooLarge,
             fmt::format("'{}' did not answer within {:g} s{} and was stopped{}{}", name_, seconds_,
                         when_asked(), remedy, last_errors())));
}

void ChildProcess::fail_too_long() {
  fail(Error(ErrorKind::TooLarge,
             fmt::format("'{}' exceeded the output limit of {}{} and was stopped{}", name_,
                         bytes_text(static_cast<double>(limits_.line_bytes)), when_asked(),
                         last_errors())));
}

void ChildProcess::fail_ended() {
  constexpr double kSeconds = 0.2;  // what it still says, and its exit code, come a moment later
  const std::string how = wait_for_end(kSeconds);
  constexpr int kMostReads = 16;  // its own children may still write
  for (int i = 0; i < kMostReads && process_->errors.is_open() && read_errors(); ++i) {
  }
  fail(Error(ErrorKind::Io, fmt::format("'{}' ended unexpectedly{}{}{}", name_, how, when_asked(),
                                        last_errors())));
}

std::string ChildProcess::when_asked() const {
  return asked_.empty() ? "" : " when asked to " + asked_;
}

std::string ChildProcess::last_errors() const {
  constexpr size_t kShown = 400;
  std::string text = errors_.substr(errors_.size() - std::min(errors_.size(), kShown));
  std::replace(text.begin(), text.end(), '\n', ' ');
  const size_t end = text.find_last_not_of(' ');
  return end == std::string::npos ? "" : ": " + printable(text.substr(0, end + 1));
}

/// How the process has ended, for messages; "" when it has not after that time.
std::string ChildProcess::wait_for_end(double seconds) {
  const Clock::time_point deadline = Clock::now() + duration_of(seconds);
  auto pause = std::chrono::microseconds(100);
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(process_->pid, &status, WNOHANG);
    if (ended != 0 && !(ended < 0 && errno == EINTR)) {
      process_->pid = -1;
      if (ended < 0) return "";  // SIGCHLD is ignored: the kernel keeps no exit codes
      return WIFSIGNALED(status) ? fmt::format(" (signal {})", WTERMSIG(status))
                                 : fmt::format(" (exit code {})", WEXITSTATUS(status));
    }
    if (Clock::now() >= deadline) return "";
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(20'000));
  }
}

void ChildProcess::kill() {
  process_->socket.close();
  process_->errors.close();
  if (process_->pid < 0) return;
  ::kill(process_->pid, SIGKILL);
  while (::waitpid(process_->pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_->pid = -1;
}

}  // namespace sparsebit
