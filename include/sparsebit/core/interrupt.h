#pragma once

#include <filesystem>

namespace sparsebit {

/// From now on SIGINT (Ctrl-C), SIGTERM and SIGHUP remove unfinished files before they end the
/// process as they always do. For main() of a program: a library leaves signals alone.
void clean_up_on_interrupt();

/// While it is alive, an interrupt waits: for files that have to appear together.
class DeferInterrupts {
 public:
  DeferInterrupts();
  ~DeferInterrupts();
  DeferInterrupts(const DeferInterrupts&) = delete;
  DeferInterrupts& operator=(const DeferInterrupts&) = delete;
};

/// Names an unfinished file, so that an interrupt removes it while this object is alive.
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
  friend void clean_up_on_interrupt();
  friend class DeferInterrupts;

  Slot* slot_;  // null when there was no room
};

}  // namespace sparsebit
