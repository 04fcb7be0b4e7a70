#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace sparsebit {

// A small file can ask for a lot of memory: an archive that unpacks to gigabytes, a graph that
// doubles a tensor forty times. Everything that allocates as much as a file asks for stays below
// one limit, so that the answer is an Error and neither a crash nor a machine that swaps.

/// The memory this process may take on this machine: 80 % of what the system has available when
/// this is first called, and not more than a container (cgroup) or `ulimit -v` leaves.
int64_t available_memory();

/// From now on the tensors of libtorch and all reservations together stay below this many bytes:
/// what would exceed them throws TooLarge. Call it once, before there are tensors; programs do, a
/// library leaves it to them. Throws InvalidArgument unless `bytes` is positive.
void limit_memory(int64_t bytes);

/// The limit in force: that of limit_memory(), else available_memory().
int64_t memory_limit();

/// Bytes of tensors (since limit_memory() was called) and of reservations.
int64_t memory_in_use();

/// Throws TooLarge when `bytes` more would exceed the limit.
/// @param purpose  what needs them, for the message: "images.npz: record 'x'".
void check_memory(int64_t bytes, std::string_view purpose);

/// Counts memory that is allocated outside of tensors against the limit, while it is alive.
class MemoryReservation {
 public:
  /// Throws as check_memory().
  MemoryReservation(int64_t bytes, std::string_view purpose);
  ~MemoryReservation();
  MemoryReservation(const MemoryReservation&) = delete;
  MemoryReservation& operator=(const MemoryReservation&) = delete;

 private:
  int64_t bytes_;
};

/// What sets the limit, for messages.
inline constexpr std::string_view kMemoryOption = "--max-memory or SPARSEBIT_MAX_MEMORY";

namespace detail {
/// What a cgroup of version 2 and those above it leave of their limits.
/// @param cgroup  as in /proc/self/cgroup: "/user.slice/job".
int64_t left_in_cgroups(const std::filesystem::path& mount, std::string_view cgroup);

// For a program's operator new, which may neither throw an Error nor allocate. Small blocks find
// room a little above the limit, so that a failure can be reported.
bool take_memory(size_t bytes) noexcept;  ///< false: nothing was counted
void count_memory(size_t bytes) noexcept;
void return_memory(size_t bytes) noexcept;
}  // namespace detail

/// "8GB", "512 MB", "2GiB", "1.5g", "1000000": bytes; nothing when the text is no size.
std::optional<int64_t> parse_bytes(std::string_view text);

/// "17.6 GB", "3.78 MB", "512 bytes": decimal units, three digits.
std::string bytes_text(double bytes);

}  // namespace sparsebit
