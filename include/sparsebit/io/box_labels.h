#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::io {

/// An object in an image: corners in pixels of the stored image.
struct LabelledBox {
  double left = 0, top = 0, right = 0, bottom = 0;
  int64_t label = 0;  ///< class, counted from 0
  bool is_crowd = false;
};

/// The objects in the images of a data set.
class BoxLabels {
 public:
  virtual ~BoxLabels() = default;

  /// Those of an image; nothing when the labels do not speak of it.
  /// @param image  as io::Sample names it: a path from the folder of images on.
  /// @param height,width  of the stored image.
  /// Throws InvalidArgument, naming file and line, for labels that cannot be read.
  virtual std::optional<std::vector<LabelledBox>> of(const std::string& image, int64_t height,
                                                     int64_t width) const = 0;
  /// Names of classes; empty when they are not known.
  virtual std::vector<std::string> classes() const { return {}; }
  /// Ids of classes in the file, ascending; empty when classes are positions.
  virtual std::vector<int64_t> category_ids() const { return {}; }
};

/// Whether a user means boxes by it: a folder, or a .json file.
bool are_box_labels(const std::filesystem::path& labels);

/// The folder `labels` that lies beside the folder `images`, as YOLO's data sets have it: of
/// `coco/images/val` it is `coco/labels/val`, and of `coco` it is `coco/labels`. Empty when there
/// is none.
std::filesystem::path box_labels_beside(const std::filesystem::path& images);

/// Opens a folder of YOLO's labels or a file of annotations in COCO's form:
///
///     a folder      NAME.txt for the image NAME.jpg, a line for each object: class, x and y of the
///                   middle, width and height as shares of the image; or class and the corners of a
///                   polygon. An image without a file has no objects.
///     a .json file  with `images`, `annotations` (`bbox`: left, top, width, height in pixels) and
///                   `categories`, which are numbered in the order of their ids
///
/// Throws Io when it cannot be read, InvalidArgument, naming the place, when it is neither.
std::unique_ptr<BoxLabels> open_box_labels(const std::filesystem::path& labels);

}  // namespace sparsebit::io
