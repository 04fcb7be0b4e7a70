#include "sparsebit/core/memory_limit.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/letter_case.h"

#include <c10/core/CPUAllocator.h>
#include <fmt/format.h>

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <new>

namespace sparsebit {
namespace {

std::atomic<int64_t> limit = 0;  // 0: limit_memory() was not called
std::atomic<int64_t> in_use = 0;

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

/// A number in a file of the kernel ("max" and missing files: unlimited).
int64_t number_in(const std::filesystem::path& file) {
  int64_t number = 0;
  std::ifstream stream(file);
  return stream >> number && number > 0 ? number : kUnlimited;
}

/// MemAvailable of /proc/meminfo, which counts what caches give back.
int64_t available_on_machine() {
  std::ifstream stream("/proc/meminfo");
  std::string word;
  while (stream >> word) {
    int64_t kilobytes = 0;
    if (word == "MemAvailable:" && stream >> kilobytes) return kilobytes * 1024;
  }
  return int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE);
}

/// What a cgroup has in use, without the cached files that the kernel gives back.
int64_t used_in(const std::filesystem::path& cgroup) {
  const int64_t used = number_in(cgroup / "memory.current");
  if (used == kUnlimited) return 0;
  std::ifstream stream(cgroup / "memory.stat");
  int64_t bytes = 0;
  for (std::string name; stream >> name >> bytes;) {
    if (name == "inactive_file") return std::max<int64_t>(used - bytes, 0);
  }
  return used;
}

/// The path in "0::/path", the line of /proc/self/cgroup about version 2.
std::string cgroup_of_process() {
  std::ifstream stream("/proc/self/cgroup");
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("0::/")) return line.substr(3);
  }
  return "/";
}

int64_t left_in_container() {
  return std::min(detail::left_in_cgroups("/sys/fs/cgroup", cgroup_of_process()),
                  number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes"));  // version 1
}

/// What `ulimit -v` leaves beside the address space that is taken already.
int64_t left_of_address_space() {
  struct rlimit address_space{};
  if (getrlimit(RLIMIT_AS, &address_space) != 0 || address_space.rlim_cur == RLIM_INFINITY)
    return kUnlimited;
  const int64_t pages = number_in("/proc/self/statm");
  const int64_t taken = pages == kUnlimited ? 0 : pages * sysconf(_SC_PAGE_SIZE);
  return std::max<int64_t>(static_cast<int64_t>(address_space.rlim_cur) - taken, 1);
}

/// Counts the bytes if they fit below `most`. What does not fit is never counted, so that it does
/// not take the room of what another thread asks for.
bool add_if_it_fits(int64_t bytes, int64_t most) noexcept {
  int64_t before = in_use;
  while (bytes <= most - before) {
    if (in_use.compare_exchange_weak(before, before + bytes)) return true;
  }
  return false;
}

void take(int64_t bytes, std::string_view purpose) {
  const int64_t most = memory_limit();
  if (add_if_it_fits(bytes, most)) return;
  const int64_t taken = in_use;
  throw Error(
      ErrorKind::TooLarge,
      fmt::format("{} needs {} of memory; the limit is {}{}; {} raises it", purpose,
                  bytes_text(static_cast<double>(bytes)), bytes_text(static_cast<double>(most)),
                  taken > 0
                      ? fmt::format(", and {} are in use", bytes_text(static_cast<double>(taken)))
                      : "",
                  kMemoryOption));
}

/// Memory for tensors, aligned as libtorch does it. Not by posix_memalign(), whose freed blocks are
/// too small for the next request of their size in the glibc of Debian 12: the heap grows whenever
/// anything small stays between two tensors.
class AlignedBlock {
 public:
  static void* allocate(size_t bytes) {
    void* const block = std::malloc(bytes + kAlignment + sizeof(void*));
    if (block == nullptr) return nullptr;
    const auto start = reinterpret_cast<uintptr_t>(block) + sizeof(void*);
    const uintptr_t aligned = (start + kAlignment - 1) / kAlignment * kAlignment;
    auto* const memory = reinterpret_cast<void**>(aligned);
    memory[-1] = block;
    return memory;
  }
  static void release(void* memory) { std::free(block_of(memory)); }
  static int64_t size_of(void* memory) {
    return memory ? static_cast<int64_t>(malloc_usable_size(block_of(memory))) : 0;
  }

 private:
  static constexpr size_t kAlignment = 64;
  static void* block_of(void* memory) { return memory ? static_cast<void**>(memory)[-1] : nullptr; }
};

/// The memory of tensors, with a count of the bytes that are alive.
class CountingAllocator : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) const override {
    constexpr size_t kMost = std::numeric_limits<int64_t>::max() / 2;
    take(static_cast<int64_t>(std::min(bytes, kMost)), "a tensor");
    void* const memory = bytes > 0 ? AlignedBlock::allocate(bytes) : nullptr;
    if (bytes > 0 && memory == nullptr) {
      in_use -= static_cast<int64_t>(bytes);
      throw std::bad_alloc();
    }
    // The block may be larger; release() can only ask for its real size.
    in_use += AlignedBlock::size_of(memory) - static_cast<int64_t>(bytes);
    return {memory, memory, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }

 private:
  static void release(void* memory) {
    in_use -= AlignedBlock::size_of(memory);
    AlignedBlock::release(memory);
  }
};

}  // namespace

int64_t detail::left_in_cgroups(const std::filesystem::path& mount, std::string_view cgroup) {
  int64_t least = kUnlimited;
  std::filesystem::path folder = mount / cgroup.substr(std::min<size_t>(1, cgroup.size()));
  while (true) {
    const int64_t most = number_in(folder / "memory.max");
    if (most != kUnlimited) least = std::min(least, std::max<int64_t>(most - used_in(folder), 1));
    if (folder == mount || !folder.has_relative_path()) return least;
    folder = folder.parent_path();
  }
}

int64_t available_memory() {
  static const int64_t bytes = [] {
    const int64_t least =
        std::min({available_on_machine(), left_in_container(), left_of_address_space()});
    return std::max<int64_t>(static_cast<int64_t>(0.8 * static_cast<double>(least)), 1);
  }();
  return bytes;
}

void limit_memory(int64_t bytes) {
  SPARSEBIT_CHECK(bytes > 0, InvalidArgument, "the memory limit must be positive, got ", bytes);
  static CountingAllocator allocator;
  constexpr uint8_t kAboveDefault = 1;
  c10::SetCPUAllocator(&allocator, kAboveDefault);
  limit = bytes;
}

int64_t memory_limit() {
  const int64_t bytes = limit;
  return bytes > 0 ? bytes : available_memory();
}

int64_t memory_in_use() { return in_use; }

void check_memory(int64_t bytes, std::string_view purpose) {
  const MemoryReservation fits(bytes, purpose);
}

MemoryReservation::MemoryReservation(int64_t bytes, std::string_view purpose) : bytes_(bytes) {
  take(bytes_, purpose);
}

MemoryReservation::~MemoryReservation() { in_use -= bytes_; }

bool detail::take_memory(size_t bytes) noexcept {
  constexpr size_t kSmall = 64 << 10;
  constexpr int64_t kRoomForSmall = 64 << 20;
  constexpr size_t kMost = std::numeric_limits<int64_t>::max() / 2;
  const int64_t most = limit;
  if (most == 0) return count_memory(bytes), true;
  if (bytes > kMost) return false;
  const auto asked = static_cast<int64_t>(bytes);
  return add_if_it_fits(asked, most + (bytes <= kSmall ? kRoomForSmall : 0));
}

void detail::count_memory(size_t bytes) noexcept { in_use += static_cast<int64_t>(bytes); }
void detail::return_memory(size_t bytes) noexcept { in_use -= static_cast<int64_t>(bytes); }

std::optional<int64_t> parse_bytes(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc() || !(number >= 0)) return std::nullopt;
  std::string unit = lower_case(std::string(stop, end));
  std::erase(unit, ' ');
  if (unit == "b" || unit == "bytes") unit.clear();
  double scale = 1;
  if (!unit.empty()) {
    constexpr std::string_view kPrefixes = "kmgt";
    const size_t power = kPrefixes.find(unit.front());
    const std::string rest = unit.substr(1);
    if (power == std::string_view::npos || (!rest.empty() && rest != "b" && rest != "ib"))
      return std::nullopt;
    scale = std::pow(rest == "ib" ? 1024. : 1000., static_cast<double>(power + 1));
  }
  const double bytes = number * scale;
  if (bytes > 9e18) return std::nullopt;
  return static_cast<int64_t>(bytes);
}

std::string bytes_text(double bytes) {
  constexpr std::array kUnits = {"kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 1000) return fmt::format("{:.0f} bytes", bytes);
  size_t unit = 0;
  bytes /= 1000;
  while (bytes >= 999.5 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  return fmt::format("{:.3g} {}", bytes, kUnits[unit]);
}

}  // namespace sparsebit
