#include "sparsebit/core/mapped_file.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/interrupt.h"
#include "sparsebit/core/printable_text.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

namespace sparsebit {

// A signal handler may not allocate or lock, so what it has to know is kept in static memory.
struct MappedFile::Slot {
  enum State { Free, Filling, Ready };
  std::atomic<State> state = Free;
  uintptr_t begin, end;  // of the mapping, whole pages
  std::array<char, 1024> name;

  static constexpr size_t kCount = 256;
  static std::array<Slot, kCount> all;

  void fill(const char* data, size_t size, const std::string& file) {
    const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGE_SIZE));
    begin = reinterpret_cast<uintptr_t>(data);
    end = begin + (size + page - 1) / page * page;
    const std::string text = printable(file);
    const size_t length = std::min(text.size(), name.size() - 1);
    std::memcpy(name.data(), text.data(), length);
    name[length] = '\0';
    state = Ready;
  }

  bool holds(uintptr_t address) const {
    return state == Ready && begin <= address && address < end;
  }
};

std::array<MappedFile::Slot, MappedFile::Slot::kCount> MappedFile::Slot::all;

MappedFile::Slot* MappedFile::reserve() {
  for (Slot& slot : Slot::all) {
    Slot::State expected = Slot::Free;
    if (slot.state.compare_exchange_strong(expected, Slot::Filling)) return &slot;
  }
  return nullptr;
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a pipe would wait for a writer.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info {};
  const bool regular = descriptor >= 0 && ::fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
  if (regular && info.st_size > 0) {
    void* const memory = ::mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE, descriptor, 0);
    if (memory != MAP_FAILED) {
      data_ = static_cast<char*>(memory);
      size_ = static_cast<size_t>(info.st_size);
      mapped_ = true;
      slot_ = reserve();
      if (slot_ != nullptr) slot_->fill(data_, size_, path.string());
    }
  }
  const bool endless = descriptor >= 0 && !regular && !S_ISDIR(info.st_mode);
  if (descriptor >= 0) ::close(descriptor);
  SPARSEBIT_CHECK(!endless, Io, path.string(),
                  ": not a regular file (a pipe or device, say); save it to a file first");
  if (mapped_) return;
  contents_ = read_file(path);  // throws if the file could not be opened, with the reason
  data_ = contents_.data();
  size_ = contents_.size();
}

MappedFile::~MappedFile() {
  if (slot_ != nullptr) slot_->state = Slot::Free;
  if (mapped_) ::munmap(data_, size_);
}

namespace {

void write_error(const char* text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
}

}  // namespace

void MappedFile::on_bus_error(int number, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  const bool is_access = info->si_code > 0;  // not sent by a process, which has no address
  const auto* const slot =
      std::find_if(Slot::all.begin(), Slot::all.end(),
                   [&](const Slot& candidate) { return is_access && candidate.holds(address); });
  if (slot == Slot::all.end()) {
    std::signal(number, SIG_DFL);
    std::raise(number);  // delivered when this handler returns
    return;
  }
  write_error("error: ");
  write_error(slot->name.data());
  write_error(
      ": the file became shorter while it was read; start again when it is complete and nothing "
      "writes to it\n");
  remove_unfinished_files();
  ::_exit(1);
}

void report_shrunk_files() {
  struct sigaction action {};
  action.sa_sigaction = MappedFile::on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace sparsebit
