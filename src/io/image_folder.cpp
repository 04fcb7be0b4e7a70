#include "io/dataset_kinds.h"
#include "io/image_list.h"
#include "io/label_file.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/letter_case.h"
#include "sparsebit/io/image_file.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace sparsebit::io {
namespace {

namespace fs = std::filesystem;

/// The first-level subfolder of a file; empty for files directly in the root.
std::string folder_of(const fs::path& file, const fs::path& root) {
  const fs::path inside = file.lexically_relative(root);
  return std::distance(inside.begin(), inside.end()) > 1 ? inside.begin()->string() : "";
}

class ImageFiles : public Dataset {
 public:
  /// Without a label file, first-level subfolders are the classes.
  ImageFiles(fs::path folder, std::vector<fs::path> files, const fs::path& labels,
             std::vector<std::string> notes)
      : folder_(std::move(folder)), files_(std::move(files)), notes_(std::move(notes)) {
    if (!labels.empty()) {
      read_labels(labels);
    } else {
      labels_from_folders();
    }
  }

  /// @param labels  one per file, or empty.
  ImageFiles(fs::path folder, std::vector<fs::path> files, std::vector<int64_t> labels)
      : folder_(std::move(folder)), files_(std::move(files)), labels_(std::move(labels)) {}

  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  bool has_labels() const override { return !labels_.empty(); }
  std::vector<std::string> classes() const override { return classes_; }
  std::vector<std::string> notes() const override { return notes_; }
  std::string describe() const override {
    return size() == 1 ? "1 image file" : std::to_string(size()) + " image files";
  }

  Sample get(int64_t index) const override {
    check_index(index, size());
    const fs::path& file = files_[static_cast<size_t>(index)];
    Sample sample{.data = load_image(file), .name = file.lexically_relative(folder_).string()};
    if (has_labels()) sample.label = labels_[static_cast<size_t>(index)];
    return sample;
  }

 private:
  void labels_from_folders() {
    std::set<std::string> names;
    for (const fs::path& file : files_) names.insert(folder_of(file, folder_));
    if (names.contains("") && names.size() > 1)
      notes_.push_back(
          "some images are outside of the subfolders, so the subfolders are not used as classes");
    if (names.contains("") || names.size() < 2) return;
    classes_.assign(names.begin(), names.end());
    for (const fs::path& file : files_) {
      const auto it = std::lower_bound(classes_.begin(), classes_.end(), folder_of(file, folder_));
      labels_.push_back(it - classes_.begin());
    }
  }

  /// Keeps only files that have a label.
  void read_labels(const fs::path& file) {
    const std::map<std::string, int64_t> known = read_label_file(file);
    std::vector<fs::path> labelled;
    std::set<std::string> used;
    for (const fs::path& image : files_) {
      auto it = known.find(image.lexically_relative(folder_).string());
      if (it == known.end()) it = known.find(image.filename().string());
      if (it == known.end()) continue;
      used.insert(it->first);
      labelled.push_back(image);
      labels_.push_back(it->second);
    }
    SPARSEBIT_CHECK(!labelled.empty(), InvalidArgument, file.string(),
                    ": no line names an image in ", folder_.string());
    const size_t without = files_.size() - labelled.size(), unused = known.size() - used.size();
    if (without > 0)
      notes_.push_back(std::to_string(without) + (without == 1 ? " image" : " images") +
                       " skipped: no label in " + file.string());
    if (unused > 0)
      notes_.push_back(std::to_string(unused) + (unused == 1 ? " line" : " lines") + " of " +
                       file.string() + " skipped: no such image");
    files_ = std::move(labelled);
  }

  fs::path folder_;
  std::vector<fs::path> files_;
  std::vector<int64_t> labels_;
  std::vector<std::string> classes_;
  std::vector<std::string> notes_;
};

}  // namespace

bool has_image_suffix(const fs::path& file) {
  constexpr std::array kSuffixes = {".jpg", ".jpeg", ".png", ".bmp"};
  const std::string suffix = lower_case(file.extension().string());
  return std::find(kSuffixes.begin(), kSuffixes.end(), suffix) != kSuffixes.end();
}

DatasetPtr open_image_file(const fs::path& file) {
  return std::make_unique<ImageFiles>(file.parent_path(), std::vector{file},
                                      std::vector<int64_t>());
}

DatasetPtr open_image_list(const fs::path& list, const fs::path& labels) {
  std::vector<fs::path> files;
  std::vector<int64_t> classes;
  for (const ListedImage& image : read_image_list(list)) {
    files.push_back(image.file);
    if (image.label) classes.push_back(*image.label);
  }
  SPARSEBIT_CHECK(classes.empty() || classes.size() == files.size(), InvalidArgument, list.string(),
                  ": ", classes.size(), " of ", files.size(),
                  " images have a class number; give one to all or to none");
  SPARSEBIT_CHECK(classes.empty() || labels.empty(), InvalidArgument, list.string(),
                  ": the list contains class numbers; a label file cannot be given too");
  const fs::path folder = list.parent_path();
  if (labels.empty())
    return std::make_unique<ImageFiles>(folder, std::move(files), std::move(classes));
  return std::make_unique<ImageFiles>(folder, std::move(files), labels, std::vector<std::string>());
}

DatasetPtr open_image_folder(const fs::path& folder, std::vector<fs::path> files,
                             const fs::path& labels, std::vector<std::string> notes) {
  return std::make_unique<ImageFiles>(folder, std::move(files), labels, std::move(notes));
}

void check_index(int64_t index, int64_t size) {
  SPARSEBIT_CHECK(index >= 0 && index < size, InvalidArgument, "sample ", index,
                  " is out of range; there are ", size);
}

}  // namespace sparsebit::io
