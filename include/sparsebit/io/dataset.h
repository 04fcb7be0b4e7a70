#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::io {

/// One sample as stored, before preprocessing.
struct Sample {
  at::Tensor data;  ///< images: uint8 [channels, height, width]; arrays: any type and shape
  std::string name;
  std::optional<int64_t> label = {};
};

/// Samples that are read on access, so that memory does not grow with their number.
/// Reading from several threads is safe.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual int64_t size() const = 0;
  /// Throws InvalidArgument for an index that is out of range, Io or InvalidArgument, naming the
  /// file, for a sample that cannot be read.
  virtual Sample get(int64_t index) const = 0;
  virtual bool has_labels() const = 0;
  /// Names of the classes (of the folders, say); empty when unknown.
  virtual std::vector<std::string> classes() const { return {}; }
  /// Remarks for the user: images without a label, say.
  virtual std::vector<std::string> notes() const { return {}; }
  /// "600 image files", "10000 samples of a CIFAR-10 file"
  virtual std::string describe() const = 0;
};

/// Whether a file is a text list of images: its first line is an image path, optionally followed by
/// a class number after a tab, a comma or a space.
bool is_image_list(const std::filesystem::path& file);

/// Samples on the first axis of a tensor.
/// @param labels       class numbers, one per sample; an undefined tensor for none.
/// @param description  name of the data set in messages.
/// Throws InvalidArgument when there are no samples or the labels do not match them.
std::unique_ptr<Dataset> dataset_of(const at::Tensor& samples, const at::Tensor& labels,
                                    const std::string& description);

/// Opens a data set; its kind is detected from the content:
///
///     a folder of images        JPEG, PNG, BMP, also in subfolders, sorted by path; if all images
///                               lie in subfolders, those of the first level are the classes
///     an image                  one sample
///     a text file of images     a path in each line, relative to the file's folder, optionally
///                               followed by a class number
///     a .npy or .npz file       samples on the first axis; in a .npz file the only array, or `x`,
///                               `data` or `images`; labels in `y` or `labels`
///     an idx file of MNIST      labels in the file next to it, `...-labels-idx1-ubyte`
///     a CIFAR-10 binary file    or a folder of such files
///
/// @param labels  a TSV file with a line per sample: file, class number (in either order, further
///                columns are skipped); empty for none.
/// Throws Io when the path does not exist, InvalidArgument when the format is unknown or the labels
/// do not match.
std::unique_ptr<Dataset> open_dataset(const std::filesystem::path& path,
                                      const std::filesystem::path& labels = {});

}  // namespace sparsebit::io
