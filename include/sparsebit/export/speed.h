#pragma once

#include <vector>

namespace sparsebit::exports {

/// Wall-clock and CPU milliseconds of each run of one model, in the order of the runs.
struct RunTimes {
  std::vector<double> wall, cpu;
};

struct Quartiles {
  double minimum = 0, lower = 0, median = 0, upper = 0;
};

/// Throws InvalidArgument when there are no values.
Quartiles quartiles_of(std::vector<double> values);

/// Inference time of one model in ONNX Runtime: graph optimizations on, one thread, one sample.
struct MeasuredTime {
  Quartiles wall, cpu;
};

/// A float model and its quantized file, run alternately.
struct MeasuredSpeed {
  MeasuredTime original, quantized;
  int rounds = 0;

  /// Speedup of the quantized file, from the fastest runs, which other processes disturbed least.
  double ratio() const { return original.wall.minimum / quantized.wall.minimum; }
  /// Speedups from median wall time and from least CPU time.
  double median_ratio() const { return original.wall.median / quantized.wall.median; }
  double cpu_ratio() const { return original.cpu.minimum / quantized.cpu.minimum; }
  /// Whether the three ratios agree within 15 %; if not, other processes disturbed the measurement.
  bool is_stable() const;
};

/// Throws InvalidArgument when there are no runs or the models have different numbers of them.
MeasuredSpeed measured_speed(const RunTimes& original, const RunTimes& quantized);

}  // namespace sparsebit::exports
