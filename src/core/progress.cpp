#include "sparsebit/core/progress.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace sparsebit {
namespace {

constexpr int64_t kWidestBar = 24, kNarrowestBar = 6;
constexpr double kSecondsBetweenDraws = 0.1;

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

ProgressOptions::Style choose_style(const ProgressOptions& options) {
  if (options.style != ProgressOptions::Style::Auto) return options.style;
  return moves_cursor(*options.out) ? ProgressOptions::Style::Bar : ProgressOptions::Style::Lines;
}

std::string duration_text(double seconds) {
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const int64_t whole = std::llround(seconds);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace

Progress::Progress(std::string label, int64_t total, ProgressOptions options)
    : label_(std::move(label)), total_(total), options_(std::move(options)) {
  SPARSEBIT_CHECK(total >= 0, InvalidArgument, "progress '", label_,
                  "': total must not be negative, got ", total);
  if (!options_.clock) options_.clock = steady_seconds;
  if (!options_.columns) options_.columns = [out = options_.out] { return terminal_columns(*out); };
  options_.style = choose_style(options_);
  start_ = last_drawn_ = options_.clock();
  if (options_.style == Style::Bar) redraw(false);
}

Progress::~Progress() {
  try {
    if (total_ > 0 && done_ >= total_) {
      finish();
    } else {
      stop();
    }
  } catch (...) {  // a stream that throws must not end the program
  }
}

void Progress::advance(int64_t n) {
  SPARSEBIT_CHECK(n >= 0, InvalidArgument, "progress '", label_,
                  "': cannot advance by a negative number, got ", n);
  if (finished_) return;
  done_ += n;
  if (options_.on_advance) options_.on_advance(label_, done_, total_);
  if (options_.style == Style::Bar) {
    const double now = options_.clock();
    if (now - last_drawn_ < kSecondsBetweenDraws) return;
    last_drawn_ = now;
    redraw(false);
  } else if (options_.style == Style::Lines && total_ > 0) {
    const int64_t quarters = percent() / 25;
    if (quarters <= quarters_shown_ || quarters == 4) return;  // finish() prints the last line
    quarters_shown_ = quarters;
    *options_.out << fmt::format("{}: {}% ({})\n", label_, percent(), count()) << std::flush;
  }
}

void Progress::finish() {
  if (std::exchange(finished_, true)) return;
  if (options_.style == Style::Bar) {
    redraw(true);
    *options_.out << std::endl;
  } else if (options_.style == Style::Lines) {
    *options_.out << fmt::format("{}: done, {} in {}\n", label_, done_, duration_text(elapsed()))
                  << std::flush;
  }
}

void Progress::stop() {
  if (std::exchange(finished_, true)) return;
  if (options_.style == Style::Bar) {
    redraw(false);
    *options_.out << std::endl;
  } else if (options_.style == Style::Lines) {
    *options_.out << fmt::format("{}: stopped at {}\n", label_, count()) << std::flush;
  }
}

int64_t Progress::percent() const {
  // In floating point: 100 * done could overflow. At most 99 before the end: no rounding up to 100.
  if (done_ >= total_) return 100;
  const double share = static_cast<double>(done_) / static_cast<double>(total_);
  return std::min<int64_t>(static_cast<int64_t>(100 * share), 99);
}

std::string Progress::count() const {
  return total_ > 0 ? fmt::format("{}/{}", done_, total_) : fmt::format("{}", done_);
}

std::string Progress::bar(int64_t width) const {
  const auto filled = static_cast<size_t>(percent() * width / 100);
  std::string text = std::string(filled, '=') + (percent() < 100 ? ">" : "");
  text.resize(static_cast<size_t>(width), ' ');
  return "[" + text + "]";
}

std::string Progress::time_text(bool done) const {
  const double seconds = elapsed();
  if (done || total_ == 0) return "  " + duration_text(seconds);
  if (done_ == 0 || done_ >= total_) return "";  // no speed yet, or nothing left
  const double left = seconds * static_cast<double>(total_ - done_) / static_cast<double>(done_);
  return "  " + duration_text(left) + " left";
}

/// The bar becomes shorter first; then the bar, the time and the count are left out, in this order.
std::string Progress::bar_line(bool done, int64_t most) const {
  const std::string share = total_ > 0 ? fmt::format("  {}%", percent()) : "";
  const std::string numbers = "  " + count() + share, time = time_text(done);
  const auto fits = [&](const std::string& line) { return std::ssize(line) <= most; };
  if (total_ > 0) {
    constexpr int64_t kAround = 4;  // two blanks and the brackets
    const int64_t room = most - std::ssize(label_ + numbers + time) - kAround;
    if (room >= kNarrowestBar)
      return label_ + "  " + bar(std::min(room, kWidestBar)) + numbers + time;
  }
  for (const std::string& line : {label_ + numbers + time, label_ + numbers, label_ + share}) {
    if (fits(line)) return line;
  }
  return (label_ + share).substr(0, static_cast<size_t>(std::max<int64_t>(most, 0)));
}

/// Goes to the start of what is drawn. A terminal that became narrower has broken it into rows; a
/// row that is full to its end has the cursor behind its last character. They are erased one by
/// one: tmux saves a screen that is cleared from its top among the lines to scroll back to.
std::string Progress::erase_drawn(int64_t columns) const {
  std::string text = "\r";
  const int64_t rows_above = reflows_lines() ? (drawn_width_ - 1) / columns : 0;
  for (int64_t row = 0; row < rows_above; ++row) text += "\x1b[K\x1b[A";
  return text;
}

/// The last column stays free: a terminal may break a line that fills it.
void Progress::redraw(bool done) {
  const int64_t columns = std::max<int64_t>(options_.columns(), 1);
  const std::string line = bar_line(done, columns - 1);
  *options_.out << erase_drawn(columns) << line << "\x1b[K" << std::flush;
  drawn_width_ = std::ssize(line);
}

}  // namespace sparsebit
