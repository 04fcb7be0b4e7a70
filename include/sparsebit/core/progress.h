#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <string>

namespace sparsebit {

/// How a Progress is displayed.
struct ProgressOptions {
  enum class Style {
    Auto,   ///< Bar if `out` leads to a terminal that can move its cursor, otherwise Lines
    Bar,    ///< one line, redrawn in place, as wide as the terminal is at that moment
    Lines,  ///< one line per quarter, for log files
    Quiet,  ///< nothing
  };

  std::ostream* out = &std::cerr;  ///< not owned; must outlive the Progress
  Style style = Style::Auto;
  std::function<double()> clock;  ///< seconds since any fixed moment; empty: the steady clock
  std::function<int64_t()> columns = {};  ///< of the terminal; empty: those of `out`, or 80
  /// Called after each advance(), whatever the style: for programs that show progress themselves.
  std::function<void(const std::string& label, int64_t done, int64_t total)> on_advance = {};
};

/// Shows the progress of a loop.
///
///     Progress progress("calibrating", batches.size());
///     for (const Batch& batch : batches) {
///       observe(batch);
///       progress.advance();
///     }
///     progress.finish();
///
/// On a terminal:   calibrating  [=======>                ]  42/128  32%  1.2 s left
/// In a log file:   calibrating: 25% (32/128)
///                  calibrating: done, 128 in 3.2 s
///
/// Not thread-safe. Destroying it before the end, for instance by an exception, ends the line
/// without "done".
class Progress {
 public:
  /// `total` is the number of steps, 0 if it is not known. Throws InvalidArgument if negative.
  Progress(std::string label, int64_t total, ProgressOptions options = {});
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Counts `n` more steps. Throws InvalidArgument if `n` is negative. Does nothing after finish().
  void advance(int64_t n = 1);

  /// Reports success with the number of steps counted, even if it differs from the total. Only the
  /// first call has an effect.
  void finish();

 private:
  using Style = ProgressOptions::Style;

  double elapsed() const { return options_.clock() - start_; }
  int64_t percent() const;
  std::string count() const;
  std::string bar(int64_t width) const;
  std::string time_text(bool done) const;
  std::string bar_line(bool done, int64_t most) const;
  std::string erase_drawn(int64_t columns) const;
  void redraw(bool done);
  void stop();

  std::string label_;
  int64_t total_;
  ProgressOptions options_;
  double start_ = 0;
  double last_drawn_ = 0;
  int64_t done_ = 0;
  int64_t quarters_shown_ = 0;
  int64_t drawn_width_ = 0;
  bool finished_ = false;
};

}  // namespace sparsebit
