#include "quant/calibration/value_store.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace sparsebit::quant {

/// An unlinked temporary file: the system removes it when the process ends, even by a crash.
class ValueStore::SpillFile {
 public:
  SpillFile() {
    std::string name = (std::filesystem::temp_directory_path() / "sparsebit-XXXXXX").string();
    descriptor_ = mkstemp(name.data());
    check(descriptor_ >= 0, "create");
    unlink(name.c_str());
  }
  ~SpillFile() { close(descriptor_); }
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  void write(const void* data, int64_t bytes, int64_t at) const {
    const auto* from = static_cast<const char*>(data);
    for (int64_t done = 0; done < bytes;) {
      const ssize_t n = pwrite(descriptor_, from + done, bytes - done, at + done);
      if (n < 0 && errno == EINTR) continue;
      check(n > 0, "write to");
      done += n;
    }
  }

  void read(void* data, int64_t bytes, int64_t at) const {
    auto* to = static_cast<char*>(data);
    for (int64_t done = 0; done < bytes;) {
      const ssize_t n = pread(descriptor_, to + done, bytes - done, at + done);
      if (n < 0 && errno == EINTR) continue;
      check(n > 0, "read from");
      done += n;
    }
  }

 private:
  static void check(bool ok, const char* what) {
    SPARSEBIT_CHECK(ok, Io, "cannot ", what, " a temporary file in '",
                    std::filesystem::temp_directory_path().string(), "': ", std::strerror(errno),
                    "; set TMPDIR to use another folder");
  }

  int descriptor_ = -1;
};

struct ValueStore::Entry {
  fx::Value value = fx::None();     // if in memory
  int64_t bytes = 0;                // of a tensor
  int64_t place = -1;               // position in the file; -1: in memory
  std::vector<int64_t> shape = {};  // of a tensor in the file
  at::ScalarType type = at::kFloat;
};

namespace {

bool can_be_spilled(const fx::Value& value) {
  if (!value.is_tensor()) return false;
  const at::Tensor& tensor = value.tensor();
  return tensor.defined() && tensor.device().is_cpu() && tensor.layout() == at::kStrided &&
         !tensor.is_quantized();
}

}  // namespace

ValueStore::ValueStore(int64_t most_bytes_in_memory) : limit_(most_bytes_in_memory) {}
ValueStore::~ValueStore() = default;

int64_t ValueStore::bytes_in_memory() const {
  const std::lock_guard lock(mutex_);
  return in_memory_;
}

int64_t ValueStore::bytes_in_file() const {
  const std::lock_guard lock(mutex_);
  return file_size_;
}

int64_t ValueStore::put(fx::Value value, Where where) {
  const std::lock_guard lock(mutex_);
  Entry entry;
  const bool may_move = can_be_spilled(value) && where == Where::Anywhere;
  if (can_be_spilled(value)) entry.bytes = static_cast<int64_t>(value.tensor().nbytes());
  // In the same layout in memory as in the file: which values go to the file must change no bit.
  if (may_move) value = value.tensor().detach().contiguous();
  const bool is_full = in_memory_ + entry.bytes > limit_;
  if (entry.bytes > 0 && is_full && may_move) {
    const at::Tensor& tensor = value.tensor();
    if (!file_) file_ = std::make_unique<SpillFile>();
    entry.place = place_in_file(entry.bytes);
    entry.shape = tensor.sizes().vec();
    entry.type = tensor.scalar_type();
    file_->write(tensor.data_ptr(), entry.bytes, entry.place);
  } else {
    entry.value = std::move(value);
    in_memory_ += entry.bytes;
  }
  entries_.emplace(next_id_, std::move(entry));
  return next_id_++;
}

fx::Value ValueStore::get(int64_t id) const {
  const std::lock_guard lock(mutex_);
  const Entry& entry = entries_.at(id);
  if (entry.place < 0) return entry.value;
  const at::Tensor tensor = at::empty(entry.shape, entry.type);
  file_->read(tensor.data_ptr(), entry.bytes, entry.place);
  return tensor;
}

void ValueStore::drop(int64_t id) {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(id);
  if (it->second.place < 0) {
    in_memory_ -= it->second.bytes;
  } else {
    free_places_[it->second.bytes].push_back(it->second.place);
  }
  entries_.erase(it);
}

/// Reuses freed positions of the same size: the values of one node mostly have one size.
int64_t ValueStore::place_in_file(int64_t bytes) {
  std::vector<int64_t>& places = free_places_[bytes];
  if (places.empty()) {
    file_size_ += bytes;
    return file_size_ - bytes;
  }
  const int64_t place = places.back();
  places.pop_back();
  return place;
}

}  // namespace sparsebit::quant
