#include "sparsebit/core/progress.h"

#include "sparsebit/core/error.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace sparsebit {
namespace {

constexpr int64_t kBarWidth = 24;
constexpr double kSecondsBetweenDraws = 0.1;

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

ProgressOptions::Style choose_style(const ProgressOptions& options) {
  if (options.style != ProgressOptions::Style::Auto) return options.style;
  const bool terminal = options.out == &std::cerr && isatty(STDERR_FILENO) == 1;
  return terminal ? ProgressOptions::Style::Bar : ProgressOptions::Style::Lines;
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
  options_.style = choose_style(options_);
  start_ = last_drawn_ = options_.clock();
  if (options_.style == Style::Bar) redraw(bar_line(false));
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
    redraw(bar_line(false));
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
    redraw(bar_line(true));
    *options_.out << std::endl;
  } else if (options_.style == Style::Lines) {
    *options_.out << fmt::format("{}: done, {} in {}\n", label_, done_, duration_text(elapsed()))
                  << std::flush;
  }
}

void Progress::stop() {
  if (std::exchange(finished_, true)) return;
  if (options_.style == Style::Bar) {
    redraw(bar_line(false));
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

std::string Progress::bar() const {
  const auto filled = static_cast<size_t>(percent() * kBarWidth / 100);
  std::string text = std::string(filled, '=') + (filled < kBarWidth ? ">" : "");
  text.resize(kBarWidth, ' ');
  return "[" + text + "]";
}

std::string Progress::bar_line(bool done) const {
  const double seconds = elapsed();
  if (total_ == 0) return fmt::format("{}  {}  {}", label_, count(), duration_text(seconds));
  std::string line = fmt::format("{}  {}  {}  {}%", label_, bar(), count(), percent());
  if (done) return line + "  " + duration_text(seconds);
  if (done_ == 0 || done_ >= total_) return line;  // no speed yet, or nothing left
  const double left = seconds * static_cast<double>(total_ - done_) / static_cast<double>(done_);
  return line + "  " + duration_text(left) + " left";
}

void Progress::redraw(const std::string& line) {
  const size_t width = line.size();
  const std::string blanks(drawn_width_ > width ? drawn_width_ - width : 0, ' ');
  *options_.out << '\r' << line << blanks << std::flush;
  drawn_width_ = width;
}

}  // namespace sparsebit
