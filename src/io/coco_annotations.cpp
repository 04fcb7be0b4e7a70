#include "io/box_label_kinds.h"

#include "sparsebit/core/error_context.h"
#include "sparsebit/core/mapped_file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace sparsebit::io {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// An image of the annotations; its sizes are 0 where they are not told.
struct AnnotatedImage {
  double height = 0, width = 0;
  std::vector<LabelledBox> boxes = {};
};

class CocoAnnotations : public BoxLabels {
 public:
  explicit CocoAnnotations(const fs::path& file) : file_(file) {
    const MappedFile mapped(file);
    const std::string_view bytes = mapped.bytes();
    const json document = json::parse(bytes.begin(), bytes.end(), nullptr, false);
    SPARSEBIT_CHECK(document.is_object() && document.contains("images") &&
                        document.contains("annotations") && document.contains("categories"),
                    InvalidArgument, file.string(),
                    ": expected annotations in COCO's form, with images, annotations and "
                    "categories");
    try {
      read_categories(document.at("categories"));
      read_images(document.at("images"));
      read_boxes(document.at("annotations"));
    } catch (const json::exception& e) {
      throw Error(ErrorKind::InvalidArgument, file.string() + ": " + place_ + ": " + reason_of(e));
    }
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
  void read_categories(const json& categories) {
    std::map<int64_t, std::string> by_id;
    place_ = "categories";
    for (const json& category : categories)
      by_id[category.at("id").get<int64_t>()] = category.value("name", "");
    for (const auto& [id, name] : by_id) {
      category_ids_.push_back(id);
      names_.push_back(name);
    }
  }

  void read_images(const json& images) {
    for (const json& image : images) {
      place_ = "images[" + std::to_string(images_.size()) + "]";
      const auto id = image.at("id").get<int64_t>();
      images_[id] = {image.value("height", 0.), image.value("width", 0.)};
      ids_[image.at("file_name").get<std::string>()] = id;
      ids_.emplace(fs::path(image.at("file_name").get<std::string>()).filename().string(), id);
    }
  }

  void read_boxes(const json& annotations) {
    int64_t number = 0;
    for (const json& annotation : annotations) {
      place_ = "annotations[" + std::to_string(number++) + "]";
      const auto image = images_.find(annotation.at("image_id").get<int64_t>());
      const auto id = annotation.at("category_id").get<int64_t>();
      const auto category = std::lower_bound(category_ids_.begin(), category_ids_.end(), id);
      const auto box = annotation.at("bbox").get<std::vector<double>>();
      check(image != images_.end(), "there is no image with its image_id");
      check(category != category_ids_.end() && *category == id,
            "there is no category with its category_id");
      check(box.size() == 4 && box[2] >= 0 && box[3] >= 0,
            "expected bbox: [left, top, width, height]");
      const json crowd = annotation.value("iscrowd", json(0));
      image->second.boxes.push_back(
          {box[0], box[1], box[0] + box[2], box[1] + box[3], category - category_ids_.begin(),
           crowd.is_boolean() ? crowd.get<bool>() : crowd.get<int64_t>() != 0});
    }
  }

  void check(bool is_right, const char* otherwise) const {
    SPARSEBIT_CHECK(is_right, InvalidArgument, file_.string(), ": ", place_, ": ", otherwise);
  }

  fs::path file_;
  std::string place_;  // what is being read, for messages
  std::vector<int64_t> category_ids_;
  std::vector<std::string> names_;
  std::map<int64_t, AnnotatedImage> images_;
  std::map<std::string, int64_t> ids_;  // of images, by path and by name
};

}  // namespace

std::unique_ptr<BoxLabels> open_coco_annotations(const fs::path& file) {
  return std::make_unique<CocoAnnotations>(file);
}

}  // namespace sparsebit::io
