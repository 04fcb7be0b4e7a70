#include "sparsebit/metrics/class_numbers.h"

#include "sparsebit/core/error.h"

#include <set>

namespace sparsebit::metrics {
namespace {

constexpr int64_t kCocoIds = 91;

std::vector<int64_t> coco_ids() {
  const std::set<int64_t> unused = {12, 26, 29, 30, 45, 66, 68, 69, 71, 83};
  std::vector<int64_t> ids;
  for (int64_t id = 1; id < kCocoIds; ++id) {
    if (!unused.contains(id)) ids.push_back(id);
  }
  return ids;
}

}  // namespace

const std::vector<std::pair<std::string, ClassNumbering>>& class_numberings() {
  static const std::vector<std::pair<std::string, ClassNumbering>> known = {
      {"zero", ClassNumbering::FromZero},
      {"one", ClassNumbering::FromOne},
      {"ids", ClassNumbering::CategoryIds},
      {"coco91", ClassNumbering::Coco91}};
  return known;
}

std::string describe(ClassNumbering numbering) {
  switch (numbering) {
    case ClassNumbering::FromZero:
      return "classes are counted from 0";
    case ClassNumbering::FromOne:
      return "classes are counted from 1, 0 is the background";
    case ClassNumbering::CategoryIds:
      return "classes are category ids of the annotations";
    case ClassNumbering::Coco91:
      return "classes are COCO's category ids, 1 to 90";
  }
  return "";
}

ClassNumbers::ClassNumbers(ClassNumbering numbering, const std::vector<int64_t>& category_ids)
    : numbering_(numbering) {
  const bool is_coco = numbering == ClassNumbering::Coco91;
  SPARSEBIT_CHECK(numbering != ClassNumbering::CategoryIds || !category_ids.empty(),
                  InvalidArgument,
                  "class numbers are category ids, but the labels have none; "
                  "give COCO annotations");
  // Annotations may contain only some of COCO's categories.
  const std::vector<int64_t> ids = is_coco && category_ids.empty() ? coco_ids() : category_ids;
  for (size_t i = 0; i < ids.size(); ++i) classes_[ids[i]] = static_cast<int64_t>(i);
}

int64_t ClassNumbers::class_of(int64_t label) const {
  if (numbering_ == ClassNumbering::FromZero) return label;
  if (numbering_ == ClassNumbering::FromOne) return label - 1;
  const auto found = classes_.find(label);
  return found == classes_.end() ? -1 : found->second;
}

ClassNumbering guess_numbering(const DetectorHead& head, int64_t classes,
                               const std::vector<int64_t>& category_ids) {
  const auto counted = head.background_is_zero ? ClassNumbering::FromOne : ClassNumbering::FromZero;
  if (category_ids.empty()) return classes == kCocoIds ? ClassNumbering::Coco91 : counted;
  const int64_t background = head.background_is_zero ? 1 : 0;
  if (classes == std::ssize(category_ids) + background) return counted;
  if (classes == 0 && !head.background_is_zero) return counted;
  SPARSEBIT_CHECK(classes == 0 || classes > category_ids.back(), InvalidArgument,
                  "the annotations have ", category_ids.size(), " categories with ids up to ",
                  category_ids.back(), ", but the model has ", classes - background,
                  " classes; set their numbering with --class-numbers");
  return ClassNumbering::CategoryIds;
}

}  // namespace sparsebit::metrics
