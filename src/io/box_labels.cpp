#include "sparsebit/io/box_labels.h"

#include "io/box_label_kinds.h"
#include "io/folder_files.h"

#include "sparsebit/core/error.h"

namespace sparsebit::io {

namespace fs = std::filesystem;

bool are_box_labels(const fs::path& labels) {
  return fs::is_directory(labels) || labels.extension() == ".json";
}

fs::path box_labels_beside(const fs::path& images) {
  if (fs::is_directory(images / "images") && fs::is_directory(images / "labels"))
    return images / "labels";
  fs::path behind;
  for (fs::path folder = fs::absolute(images).lexically_normal(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (folder.filename() == "images") {
      fs::path labels = folder.parent_path() / "labels";
      if (!behind.empty()) labels /= behind;
      return fs::is_directory(labels) ? labels : fs::path();
    }
    if (!folder.filename().empty())
      behind = behind.empty() ? folder.filename() : folder.filename() / behind;
  }
  return {};
}

std::unique_ptr<BoxLabels> open_box_labels(const fs::path& labels) {
  SPARSEBIT_CHECK(is_there(labels), Io, labels.string(), ": no such file or folder");
  return fs::is_directory(labels) ? open_yolo_labels(labels) : open_coco_annotations(labels);
}

}  // namespace sparsebit::io
