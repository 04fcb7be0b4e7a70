#include "sparsebit/core/interrupt.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstring>

namespace sparsebit {

// A signal handler may not allocate or lock, so the file names are kept in static memory.
struct RemoveOnInterrupt::Slot {
  enum State { Free, Filling, Ready };
  std::atomic<State> state = Free;
  std::array<char, PATH_MAX> path;

  static constexpr size_t kCount = 32;
  static std::array<Slot, kCount> all;
};

std::array<RemoveOnInterrupt::Slot, RemoveOnInterrupt::Slot::kCount> RemoveOnInterrupt::Slot::all;

static_assert(std::atomic<int>::is_always_lock_free);

RemoveOnInterrupt::Slot* RemoveOnInterrupt::reserve() {
  for (Slot& slot : Slot::all) {
    Slot::State expected = Slot::Free;
    if (slot.state.compare_exchange_strong(expected, Slot::Filling)) return &slot;
  }
  return nullptr;
}

RemoveOnInterrupt::RemoveOnInterrupt(const std::filesystem::path& file) : slot_(nullptr) {
  std::error_code error;  // absolute: the working folder may change
  const std::string path = std::filesystem::absolute(file, error).string();
  if (error || path.size() >= PATH_MAX) return;
  slot_ = reserve();
  if (slot_ == nullptr) return;
  std::memcpy(slot_->path.data(), path.c_str(), path.size() + 1);
  slot_->state = Slot::Ready;
}

RemoveOnInterrupt::~RemoveOnInterrupt() {
  if (slot_ != nullptr) slot_->state = Slot::Free;
}

namespace {

std::atomic<int> deferring = 0;
std::atomic<int> pending = 0;  // a signal received while deferring

}  // namespace

DeferInterrupts::DeferInterrupts() { ++deferring; }

DeferInterrupts::~DeferInterrupts() {
  if (--deferring > 0) return;
  if (const int number = pending.exchange(0)) RemoveOnInterrupt::on_signal(number);
}

namespace {

/// Removes a folder of files, with system calls only: std::filesystem allocates.
void remove_folder(const char* path) {
  struct Entry {  // linux_dirent64
    uint64_t inode;
    int64_t next;
    uint16_t length;
    uint8_t type;
    char name[1];
  };
  constexpr size_t kSize = 4096;
  alignas(Entry) std::array<char, kSize> entries;
  const int folder = ::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return;
  long read;
  while ((read = ::syscall(SYS_getdents64, folder, entries.data(), entries.size())) > 0) {
    for (long at = 0; at < read;) {
      const auto* entry = reinterpret_cast<const Entry*>(entries.data() + at);
      ::unlinkat(folder, entry->name, 0);  // fails for "." and ".."
      at += entry->length;
    }
  }
  ::close(folder);
  ::rmdir(path);
}

}  // namespace

void RemoveOnInterrupt::remove_all() {
  constexpr int kDepth = 2;  // a folder of outputs may be in another one
  for (int depth = 0; depth < kDepth; ++depth) {
    for (Slot& slot : Slot::all) {
      if (slot.state != Slot::Ready) continue;
      if (::unlink(slot.path.data()) != 0) remove_folder(slot.path.data());
    }
  }
}

void remove_unfinished_files() { RemoveOnInterrupt::remove_all(); }

void RemoveOnInterrupt::on_signal(int number) {
  if (deferring > 0) {
    pending = number;
    // The last DeferInterrupts may have gone in between, before it could see the signal.
    if (deferring > 0 || pending.exchange(0) == 0) return;
  }
  remove_all();
  if (number == SIGINT && ::isatty(STDERR_FILENO) == 1) {
    constexpr char kMessage[] = "\ninterrupted; unfinished files were removed\n";
    [[maybe_unused]] const ssize_t shown = ::write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  }
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void clean_up_on_interrupt() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    // Signals ignored at program start, by nohup for instance, stay ignored.
    if (std::signal(number, RemoveOnInterrupt::on_signal) == SIG_IGN) std::signal(number, SIG_IGN);
  }
}

}  // namespace sparsebit
