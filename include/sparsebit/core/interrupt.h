#pragma once

#include <filesystem>

namespace sparsebit {

/// Installs handlers for SIGINT (Ctrl-C), SIGTERM and SIGHUP that remove unfinished files and then
/// end the process as by default. For main() of a program; a library should not change signal
/// handlers.
void clean_up_on_interrupt();

/// Removes unfinished files, as an interrupt does: for handlers that end the process in another
/// way. Safe to call in a signal handler.
void remove_unfinished_files();

/// Delays interrupts while it is alive, for instance while several files that belong together are
/// renamed.
class DeferInterrupts {
 public:
  DeferInterrupts();
  ~DeferInterrupts();
  DeferInterrupts(const DeferInterrupts&) = delete;
  DeferInterrupts& operator=(const DeferInterrupts&) = delete;
};

/// Registers an unfinished file, or a folder of unfinished files, which an interrupt removes while
/// this object is alive.
class RemoveOnInterrupt {
 public:
  explicit RemoveOnInterrupt(const std::filesystem::path& file);
  ~RemoveOnInterrupt();
  RemoveOnInterrupt(const RemoveOnInterrupt&) = delete;
  RemoveOnInterrupt& operator=(const RemoveOnInterrupt&) = delete;

 private:
  struct Slot;
  static Slot* reserve();
  static void on_signal(int number);
  static void remove_all();
  friend void remove_unfinished_files();
  friend void clean_up_on_interrupt();
  friend class DeferInterrupts;

  Slot* slot_;  // null when all slots are in use
};

}  // namespace sparsebit
