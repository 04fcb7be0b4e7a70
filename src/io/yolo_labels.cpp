#include "io/box_label_kinds.h"
#include "io/folder_files.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/mapped_file.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

namespace sparsebit::io {
namespace {

namespace fs = std::filesystem;

/// The box of normalized coordinates (fractions of the image size).
LabelledBox box_of(const std::vector<double>& shares) {
  LabelledBox box;
  if (shares.size() == 4) {
    box = {shares[0] - shares[2] / 2, shares[1] - shares[3] / 2, shares[0] + shares[2] / 2,
           shares[1] + shares[3] / 2};
    return box;
  }
  box = {shares[0], shares[1], shares[0], shares[1]};
  for (size_t i = 0; i + 1 < shares.size(); i += 2) {  // corners of a polygon
    box.left = std::min(box.left, shares[i]);
    box.right = std::max(box.right, shares[i]);
    box.top = std::min(box.top, shares[i + 1]);
    box.bottom = std::max(box.bottom, shares[i + 1]);
  }
  return box;
}

LabelledBox read_line(const std::string& line, const std::string& where) {
  std::istringstream words(line);
  std::vector<double> numbers;
  for (double number; words >> number;) numbers.push_back(number);
  constexpr double kMostClasses = 1e6;
  const bool has_class = words.eof() && !numbers.empty() && numbers[0] >= 0 &&
                         numbers[0] < kMostClasses && numbers[0] == std::floor(numbers[0]);
  const bool has_box = numbers.size() == 5 || (numbers.size() >= 7 && numbers.size() % 2 == 1);
  SPARSEBIT_CHECK(has_class && has_box, InvalidArgument, where,
                  ": expected a class number and x, y, width and height of a box, found '", line,
                  "'");
  for (size_t i = 1; i < numbers.size(); ++i) {
    // Rounded coordinates may lie slightly outside.
    SPARSEBIT_CHECK(numbers[i] > -0.01 && numbers[i] < 1.01, InvalidArgument, where,
                    ": box coordinates must be normalized to the image size, from 0 to 1; found ",
                    numbers[i]);
  }
  LabelledBox box = box_of({numbers.begin() + 1, numbers.end()});
  box.label = static_cast<int64_t>(numbers[0]);
  return box;
}

class YoloLabels : public BoxLabels {
 public:
  explicit YoloLabels(fs::path folder) : folder_(std::move(folder)) {
    const std::vector<fs::path> files = files_in(folder_).files;
    const bool has_labels = std::any_of(files.begin(), files.end(), [](const fs::path& file) {
      return file.extension() == ".txt";
    });
    SPARSEBIT_CHECK(has_labels, InvalidArgument, folder_.string(), ": contains no labels (.txt)");
  }

  std::optional<std::vector<LabelledBox>> of(const std::string& image, int64_t height,
                                             int64_t width) const override {
    const fs::path file = file_of(image);
    std::vector<LabelledBox> boxes;
    if (file.empty()) return boxes;
    const MappedFile mapped(file);
    std::istringstream lines{std::string(mapped.bytes())};
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      LabelledBox box = read_line(line, file.string() + ":" + std::to_string(number));
      box.left *= static_cast<double>(width);
      box.right *= static_cast<double>(width);
      box.top *= static_cast<double>(height);
      box.bottom *= static_cast<double>(height);
      boxes.push_back(box);
    }
    return boxes;
  }

 private:
  /// The label file of an image; empty when there is none.
  fs::path file_of(const std::string& image) const {
    fs::path inside = fs::path(image).replace_extension(".txt");
    if (inside.begin() != inside.end() && *inside.begin() == "images")
      inside = inside.lexically_relative("images");
    for (const fs::path& file : {folder_ / inside, folder_ / inside.filename()}) {
      std::error_code failed;
      if (fs::is_regular_file(file, failed)) return file;
    }
    return {};
  }

  fs::path folder_;
};

}  // namespace

std::unique_ptr<BoxLabels> open_yolo_labels(const fs::path& folder) {
  return std::make_unique<YoloLabels>(folder);
}

}  // namespace sparsebit::io
