#pragma once

#include <filesystem>

namespace sparsebit {

/// From now on SIGINT (Ctrl-C), SIGTERM and SIGHUP remove unfinished files before they end the
/// process as they always do. For main() of a program: a library leaves signals alone.
void clean_up_on_interrupt();

/// Removes unfinished files, as an interrupt does: for handlers that end the process in another
/// way. Safe to call in a signal handler.
void remove_unfinished_files();

/// While it is alive, an interrupt waits: for files that have to appear together.
class DeferInterrupts {
 public:
  DeferInterrupts();
  ~DeferInterrupts();
  DeferInterrupts(const DeferInterrupts&) = delete;
  DeferInterrupts& operator=(const DeferInterrupts&) = delete;
};

/// Names an unfinished file, or a folder of unfinished files, so that an interrupt removes it while
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

  Slot* slot_;  // null when there was no room
};

}  // namespace sparsebit
