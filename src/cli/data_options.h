#pragma once

#include "sparsebit/io/dataset.h"
#include "sparsebit/io/preprocess.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sparsebit::cli {

/// Options of commands that read data.
struct DataOptions {
  std::string data;
  std::string labels;
  std::string preprocess = "none";  ///< a preset, or a YAML file
  int64_t samples = 0;              ///< 0 = all
  int64_t batch_size = 8;
};

void add_data_options(CLI::App& command, DataOptions& options);

/// Samples of a data set, made ready for a model.
class PreparedData {
 public:
  /// @param seed  decides which samples are taken if not all are.
  PreparedData(const DataOptions& options, uint64_t seed);

  int64_t size() const { return static_cast<int64_t>(chosen_.size()); }
  bool has_labels() const { return dataset_->has_labels(); }
  const io::Dataset& dataset() const { return *dataset_; }
  const io::Preprocess& preprocess() const { return preprocess_; }

  /// One sample without a batch axis. An error names the sample.
  at::Tensor input(int64_t index) const;
  int64_t label(int64_t index) const;
  /// Samples from `start` on, at most `count`, with a batch axis.
  at::Tensor batch(int64_t start, int64_t count) const;

 private:
  io::Sample read(int64_t index) const;

  std::unique_ptr<io::Dataset> dataset_;
  io::Preprocess preprocess_;
  std::vector<int64_t> chosen_;  // ascending
};

/// A preset by name, or settings from a YAML file.
io::Preprocess preprocess_of(const std::string& preset_or_file);

}  // namespace sparsebit::cli
