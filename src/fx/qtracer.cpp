#include "sparsebit/core/glob.h"
#include "sparsebit/fx/tracer.h"

namespace sparsebit::fx {

QTracer::QTracer(std::vector<std::string> skipped_modules)
    : skipped_modules_(std::move(skipped_modules)), matched_(skipped_modules_.size()) {}

bool QTracer::is_leaf_module(const Module& module, const std::string& path) {
  bool skipped = false;
  for (size_t i = 0; i < skipped_modules_.size(); ++i) {
    if (!glob_match(path, skipped_modules_[i])) continue;
    matched_[i] = true;
    skipped = true;
  }
  return skipped || Tracer::is_leaf_module(module, path);
}

std::vector<std::string> QTracer::unmatched_patterns() const {
  std::vector<std::string> result;
  for (size_t i = 0; i < skipped_modules_.size(); ++i) {
    if (!matched_[i]) result.push_back(skipped_modules_[i]);
  }
  return result;
}

}  // namespace sparsebit::fx
