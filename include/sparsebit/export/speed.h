#pragma once

#include <vector>

namespace sparsebit::exports {

/// Milliseconds of each run of one model, in the order of the runs.
struct RunTimes {
  std::vector<double> wall, cpu;
};

/// The smallest value, and those below which a quarter, a half and three quarters lie.
struct Quartiles {
  double minimum = 0, lower = 0, median = 0, upper = 0;
};

/// Throws InvalidArgument when there are no values.
Quartiles quartiles_of(std::vector<double> values);

/// Times of one model in ONNX Runtime: optimized, one thread, one sample.
struct MeasuredTime {
  Quartiles wall, cpu;
};

/// A float model and its quantized file, measured in turns.
struct MeasuredSpeed {
  MeasuredTime original, quantized;
  int rounds = 0;

  /// How many times as fast the file is: the fastest runs, which other programs disturbed least.
  double ratio() const { return original.wall.minimum / quantized.wall.minimum; }
  /// Of medians of wall time, and of the least CPU time.
  double median_ratio() const { return original.wall.median / quantized.wall.median; }
  double cpu_ratio() const { return original.cpu.minimum / quantized.cpu.minimum; }
  /// Whether the ratios agree; where they do not, other programs decided them.
  bool is_stable() const;
};

/// Throws InvalidArgument unless both have the same number of runs, at least one.
MeasuredSpeed measured_speed(const RunTimes& original, const RunTimes& quantized);

}  // namespace sparsebit::exports
