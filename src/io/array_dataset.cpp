#include "io/dataset_kinds.h"
#include "io/folder_files.h"
#include "io/label_file.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/mapped_file.h"
#include "sparsebit/core/named_tensors.h"
#include "sparsebit/io/idx_file.h"
#include "sparsebit/io/npy.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sparsebit::io {
namespace {

namespace fs = std::filesystem;

class ArrayDataset : public Dataset {
 public:
  ArrayDataset(at::Tensor samples, at::Tensor labels, std::string description)
      : samples_(std::move(samples)),
        labels_(std::move(labels)),
        description_(std::move(description)) {}

  int64_t size() const override { return samples_.size(0); }
  bool has_labels() const override { return labels_.defined(); }
  std::string describe() const override { return description_; }

  Sample get(int64_t index) const override {
    check_index(index, size());
    Sample sample{.data = samples_[index], .name = std::to_string(index)};
    if (has_labels()) sample.label = labels_[index].item<int64_t>();
    return sample;
  }

 private:
  at::Tensor samples_, labels_;
  std::string description_;
};

/// The first array with one of these names; null when there is none.
const at::Tensor* find_any(const NamedTensors& arrays, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const at::Tensor* found = arrays.find(name)) return found;
  }
  return nullptr;
}

/// t10k-images-idx3-ubyte.gz -> t10k-labels-idx1-ubyte.gz; empty when the file does not exist.
fs::path labels_beside(const fs::path& images) {
  std::string name = images.filename().string();
  for (const auto& [from, to] : {std::pair("images", "labels"), std::pair("idx3", "idx1")}) {
    const size_t at = name.find(from);
    if (at == std::string::npos) return {};
    name.replace(at, std::string(from).size(), to);
  }
  const fs::path labels = images.parent_path() / name;
  return is_there(labels) ? labels : fs::path();
}

/// Whether all numbers are integers that int64 can hold.
bool are_integers(const at::Tensor& numbers) {
  if (!numbers.is_floating_point()) return !numbers.is_complex();
  constexpr double kMost = 9007199254740992.;        // 2^53: above, floats skip integers
  const at::Tensor exact = numbers.to(at::kDouble);  // libtorch cannot round float16
  return exact.eq(exact.round()).logical_and(exact.abs().le(kMost)).all().item<bool>();
}

constexpr int64_t kCifarPixels = 3 * 32 * 32;
constexpr int64_t kCifarRecord = 1 + kCifarPixels;

}  // namespace

DatasetPtr dataset_of(const at::Tensor& samples, const at::Tensor& labels,
                      const std::string& description) {
  SPARSEBIT_CHECK(samples.dim() > 0 && samples.size(0) > 0, InvalidArgument, description,
                  ": contains no samples");
  SPARSEBIT_CHECK(!labels.defined() || (labels.dim() == 1 && labels.size(0) == samples.size(0)),
                  InvalidArgument, description, ": expected one label for each of ",
                  samples.size(0), " samples, found labels of shape ",
                  labels.defined() ? labels.sizes() : at::IntArrayRef());
  SPARSEBIT_CHECK(!labels.defined() || are_integers(labels), InvalidArgument, description,
                  ": labels must be integers");
  return std::make_unique<ArrayDataset>(samples, labels, description);
}

DatasetPtr open_array(const fs::path& file) {
  return dataset_of(load_npy(file), {}, "an array, " + file.filename().string());
}

DatasetPtr open_array_archive(const fs::path& file) {
  const NamedTensors arrays = load_npz(file);
  const at::Tensor* samples = find_any(arrays, {"x", "data", "images"});
  if (!samples && arrays.size() == 1) samples = &arrays.begin()->value();
  SPARSEBIT_CHECK(samples, InvalidArgument, file.string(),
                  ": contains several arrays, none of them named x, data or images");
  const at::Tensor* classes = find_any(arrays, {"y", "labels"});
  return dataset_of(*samples, classes ? *classes : at::Tensor(),
                    "an archive of arrays, " + file.filename().string());
}

DatasetPtr open_mnist(const fs::path& file) {
  const at::Tensor images = load_idx(file);
  SPARSEBIT_CHECK(images.dim() == 3, InvalidArgument, file.string(),
                  ": expected images [count, height, width], found shape ", images.sizes(),
                  "; give the image file (...-images-idx3-ubyte)");
  const fs::path labels = labels_beside(file);
  return dataset_of(images.unsqueeze(1), labels.empty() ? at::Tensor() : load_idx(labels),
                    "images in MNIST's format, " + file.filename().string());
}

bool is_cifar(const fs::path& file) {
  const auto size = static_cast<int64_t>(fs::file_size(file));
  return size > 0 && size % kCifarRecord == 0 &&
         static_cast<unsigned char>(MappedFile(file).bytes()[0]) < 10;
}

DatasetPtr open_cifar(const std::vector<fs::path>& files) {
  std::vector<at::Tensor> images, labels;
  for (const fs::path& file : files) {
    SPARSEBIT_CHECK(is_cifar(file), InvalidArgument, file.string(), ": not a CIFAR-10 file");
    MappedFile mapped(file);
    const int64_t count = static_cast<int64_t>(mapped.size()) / kCifarRecord;
    const at::Tensor records =
        at::from_blob(mapped.data(), {count, kCifarRecord}, at::kByte).clone();
    labels.push_back(records.select(1, 0).to(at::kLong));
    images.push_back(records.narrow(1, 1, kCifarPixels).reshape({count, 3, 32, 32}));
  }
  const at::Tensor classes = at::cat(labels);
  SPARSEBIT_CHECK(classes.max().item<int64_t>() < 10, InvalidArgument, files.front().string(),
                  ": not a CIFAR-10 file: found class ", classes.max().item<int64_t>());
  return dataset_of(at::cat(images), classes, "CIFAR-10 images");
}

}  // namespace sparsebit::io
