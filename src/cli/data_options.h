#pragma once

#include "sparsebit/fx/graph_module.h"
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
  std::string preprocess = {};  ///< a preset, or a YAML file; empty when not told
  int64_t samples = 0;          ///< 0 = all
  int64_t batch_size = 8;
};

void add_data_options(CLI::App& command, DataOptions& options);

/// Samples of a data set, made ready for a model.
class PreparedData {
 public:
  /// @param seed  decides which samples are taken if not all are.
  /// @param preprocess  what is done unless the options say.
  PreparedData(const DataOptions& options, uint64_t seed, const io::Preprocess& preprocess = {});

  int64_t size() const { return static_cast<int64_t>(chosen_.size()); }
  bool has_all() const { return size() == dataset_->size(); }
  /// How many samples to read at a time for a model that takes `fixed` at once (0: any number).
  /// Throws InvalidArgument when that does not divide their number.
  int64_t step(int64_t fixed) const;
  bool has_labels() const { return dataset_->has_labels(); }
  const io::Dataset& dataset() const { return *dataset_; }
  const io::Preprocess& preprocess() const { return preprocess_; }

  struct Batch {
    at::Tensor inputs;                 ///< with a batch axis
    std::vector<int64_t> labels = {};  ///< empty when there are none
  };
  /// Samples from `start` on, at most `count`, read by several threads. An error names the sample.
  Batch batch(int64_t start, int64_t count) const;

 private:
  io::Sample prepared(int64_t index) const;

  std::unique_ptr<io::Dataset> dataset_;
  io::Preprocess preprocess_;
  std::vector<int64_t> chosen_;  // ascending
  int64_t batch_size_;
};

/// Throws Unsupported, naming `source`, when a model has several inputs: data sets have one.
void check_one_input(const fx::GraphModule& module, const std::string& source);

/// Throws InvalidArgument when samples are not what the only input of the model takes.
void check_fits(const fx::GraphModule& module, const at::Tensor& batch, const std::string& source);

/// A preset by name, or settings from a YAML file.
io::Preprocess preprocess_of(const std::string& preset_or_file);

}  // namespace sparsebit::cli
