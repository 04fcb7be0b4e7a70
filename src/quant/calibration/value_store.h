#pragma once

#include "sparsebit/fx/ops/value.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace sparsebit::quant {

/// Stores values of many samples: in memory up to a limit, beyond it in a temporary file, which is
/// removed with this object. Several threads may use it.
class ValueStore {
 public:
  explicit ValueStore(int64_t most_bytes_in_memory);
  ~ValueStore();
  ValueStore(const ValueStore&) = delete;
  ValueStore& operator=(const ValueStore&) = delete;

  enum class Where { Anywhere, Memory };
  /// Only plain CPU tensors go to the file; other values stay in memory. Throws Io if the file
  /// cannot be written.
  int64_t put(fx::Value value, Where where = Where::Anywhere);
  fx::Value get(int64_t id) const;
  void drop(int64_t id);

  int64_t bytes_in_memory() const;
  int64_t bytes_in_file() const;

 private:
  struct Entry;
  class SpillFile;

  int64_t place_in_file(int64_t bytes);

  mutable std::mutex mutex_;
  int64_t limit_;
  int64_t in_memory_ = 0;
  int64_t file_size_ = 0;
  int64_t next_id_ = 0;
  std::unique_ptr<SpillFile> file_;
  std::unordered_map<int64_t, Entry> entries_;
  std::map<int64_t, std::vector<int64_t>> free_places_;  // in the file, by size
};

}  // namespace sparsebit::quant
