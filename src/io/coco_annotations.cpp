#include "io/box_label_kinds.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/json_view.h"
#include "sparsebit/core/mapped_file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace sparsebit::io {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using View = JsonView<json>;

constexpr ErrorKind kKind = ErrorKind::InvalidArgument;

/// An image in the annotations; sizes are 0 when not given.
struct AnnotatedImage {
  double height = 0, width = 0;
  std::vector<LabelledBox> boxes = {};
};

class CocoAnnotations : public BoxLabels {
 public:
  explicit CocoAnnotations(const fs::path& file) {
    const json document = parse_json<json>(MappedFile(file).bytes(), file.string(), kKind);
    SPARSEBIT_CHECK(document.is_object() && document.contains("images") &&
                        document.contains("annotations") && document.contains("categories"),
                    InvalidArgument, file.string(),
                    ": not COCO annotations; expected a JSON object with the keys images, "
                    "annotations and categories");
    const View view(document, file.string(), kKind);
    read_categories(view["categories"]);
    read_images(view["images"]);
    read_boxes(view["annotations"]);
  }

  std::optional<std::vector<LabelledBox>> of(const std::string& image, int64_t height,
                                             int64_t width) const override {
    auto found = ids_.find(image);
    if (found == ids_.end()) found = ids_.find(fs::path(image).filename().string());
    if (found == ids_.end()) return std::nullopt;
    const AnnotatedImage& annotated = images_.at(found->second);
    std::vector<LabelledBox> boxes = annotated.boxes;
    // The stored image may be a smaller copy of the annotated one.
    const double across = annotated.width > 0 ? static_cast<double>(width) / annotated.width : 1;
    const double down = annotated.height > 0 ? static_cast<double>(height) / annotated.height : 1;
    for (LabelledBox& box : boxes) {
      box.left *= across;
      box.right *= across;
      box.top *= down;
      box.bottom *= down;
    }
    return boxes;
  }

  std::vector<std::string> classes() const override { return names_; }
  std::vector<int64_t> category_ids() const override { return category_ids_; }

 private:
  void read_categories(const View& categories) {
    std::map<int64_t, std::string> by_id;
    for (const View& category : categories.items()) {
      const auto name = category.find("name");
      by_id[category["id"].integer()] = name ? name->text() : "";
    }
    for (const auto& [id, name] : by_id) {
      category_ids_.push_back(id);
      names_.push_back(name);
    }
  }

  void read_images(const View& images) {
    const auto size_at = [](const View& image, const char* key) {
      const auto size = image.find(key);
      return size ? size->number() : 0;
    };
    for (const View& image : images.items()) {
      const int64_t id = image["id"].integer();
      const std::string name = image["file_name"].text();
      images_[id] = {size_at(image, "height"), size_at(image, "width")};
      ids_[name] = id;
      ids_.emplace(fs::path(name).filename().string(), id);
    }
  }

  void read_boxes(const View& annotations) {
    for (const View& annotation : annotations.items()) {
      const auto image = images_.find(annotation["image_id"].integer());
      const int64_t id = annotation["category_id"].integer();
      const auto category = std::lower_bound(category_ids_.begin(), category_ids_.end(), id);
      const std::vector<double> box = annotation["bbox"].numbers();
      if (image == images_.end()) annotation.fail("unknown image_id");
      if (category == category_ids_.end() || *category != id)
        annotation.fail("unknown category_id");
      if (box.size() != 4 || box[2] < 0 || box[3] < 0)
        annotation.fail("expected bbox: [left, top, width, height]");
      image->second.boxes.push_back({box[0], box[1], box[0] + box[2], box[1] + box[3],
                                     category - category_ids_.begin(), is_crowd(annotation)});
    }
  }

  static bool is_crowd(const View& annotation) {
    const auto crowd = annotation.find("iscrowd");
    if (!crowd) return false;
    return crowd->is_flag() ? crowd->flag() : crowd->integer() != 0;
  }

  std::vector<int64_t> category_ids_;
  std::vector<std::string> names_;
  std::map<int64_t, AnnotatedImage> images_;
  std::map<std::string, int64_t> ids_;  // image ids by path and by file name
};

}  // namespace

std::unique_ptr<BoxLabels> open_coco_annotations(const fs::path& file) {
  return std::make_unique<CocoAnnotations>(file);
}

}  // namespace sparsebit::io
