#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::io {

/// A labelled object in an image; corners in pixels of the stored image.
struct LabelledBox {
  double left = 0, top = 0, right = 0, bottom = 0;
  int64_t label = 0;  ///< class, counted from 0
  bool is_crowd = false;
};

/// The objects in the images of a data set.
class BoxLabels {
 public:
  virtual ~BoxLabels() = default;

  /// The boxes of an image; nullopt when the labels do not list the image.
  /// @param image  the name in io::Sample: a path relative to the folder of images.
  /// @param height,width  of the stored image.
  /// Throws InvalidArgument, naming file and line, for labels that cannot be read.
  virtual std::optional<std::vector<LabelledBox>> of(const std::string& image, int64_t height,
                                                     int64_t width) const = 0;
  /// Names of the classes; empty when unknown.
  virtual std::vector<std::string> classes() const { return {}; }
  /// COCO category ids in ascending order; empty when the file numbers classes from 0.
  virtual std::vector<int64_t> category_ids() const { return {}; }
};

/// Whether a label path given by the user means box labels: a folder, or a .json file.
bool are_box_labels(const std::filesystem::path& labels);

/// The folder `labels` next to the folder `images`, as in YOLO data sets: `coco/labels/val` for
/// `coco/images/val`, and `coco/labels` for `coco`. Empty when there is none.
std::filesystem::path box_labels_beside(const std::filesystem::path& images);

/// Opens a folder of YOLO labels or a COCO annotation file:
///
///     a folder      NAME.txt for the image NAME.jpg, a line for each object: class, x and y of the
///                   center, width and height, normalized to the image size; or class and the
///                   corners of a polygon. An image without a file has no objects.
///     a .json file  with `images`, `annotations` (`bbox`: left, top, width, height in pixels) and
///                   `categories`, which are numbered in the order of their ids
///
/// Throws Io when the labels cannot be read, InvalidArgument, with the position, when they have
/// neither format.
std::unique_ptr<BoxLabels> open_box_labels(const std::filesystem::path& labels);

}  // namespace sparsebit::io
