#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::io {

/// One sample as it is stored.
struct Sample {
  at::Tensor data;  ///< images: uint8 [channels, height, width]; arrays: what they hold
  std::string name;
  std::optional<int64_t> label = {};
};

/// Samples that are read when they are asked for, so that memory does not grow with their number.
/// Reading from several threads is safe.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual int64_t size() const = 0;
  /// Throws InvalidArgument for an index that is out of range, Io or InvalidArgument, naming the
  /// file, for a sample that cannot be read.
  virtual Sample get(int64_t index) const = 0;
  virtual bool has_labels() const = 0;
  /// Names of the classes where there are any: folders, say.
  virtual std::vector<std::string> classes() const { return {}; }
  /// What a user may want to know: images without a label, say.
  virtual std::vector<std::string> notes() const { return {}; }
  /// "600 image files", "10000 samples of a CIFAR-10 file"
  virtual std::string describe() const = 0;
};

/// Whether a file is text that lists images: its first line names one. A class number may stand
/// behind it, after a tab, a comma or a space.
bool is_image_list(const std::filesystem::path& file);

/// Samples on the first axis of a tensor.
/// @param labels       class numbers, one for each; undefined for none.
/// @param description  what messages call it.
/// Throws InvalidArgument when there are no samples or labels do not fit.
std::unique_ptr<Dataset> dataset_of(const at::Tensor& samples, const at::Tensor& labels,
                                    const std::string& description);

/// Opens what is at a path, told apart by content:
///
///     a folder of images        JPEG, PNG, BMP, also in folders inside, sorted by path; if all lie
///                               in folders of the first level, these are the classes
///     an image                  one sample
///     a text file of images     a path in each line, from the file's folder on, and maybe a class
///                               number behind it
///     a .npy or .npz file       samples on the first axis; in a .npz file the array that is the
///     only
///                               one, or `x`, `data` or `images`; labels in `y` or `labels`
///     an idx file of MNIST      labels in the file next to it, `...-labels-idx1-ubyte`
///     a CIFAR-10 binary file    or a folder of such files
///
/// @param labels  a TSV file with a line per sample: file, class number (in either order, further
///                columns are skipped); empty for none.
/// Throws Io when nothing is there, InvalidArgument, saying what was looked for, when it is none of
/// these or labels do not fit.
std::unique_ptr<Dataset> open_dataset(const std::filesystem::path& path,
                                      const std::filesystem::path& labels = {});

}  // namespace sparsebit::io
