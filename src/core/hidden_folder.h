#pragma once

#include "core/descriptor.h"
#include "sparsebit/core/interrupt.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sparsebit {

/// A new hidden folder that only this user can read, removed with what is in it: with this object,
/// by an interrupt, or, after SIGKILL, by the next process that uses the same parent.
class HiddenFolder {
 public:
  /// Throws Io.
  explicit HiddenFolder(const std::filesystem::path& parent);
  ~HiddenFolder();
  HiddenFolder(const HiddenFolder&) = delete;
  HiddenFolder& operator=(const HiddenFolder&) = delete;

  const std::filesystem::path& parent() const { return parent_; }
  const std::filesystem::path& path() const { return path_; }

  /// Names of the files in it, sorted.
  std::vector<std::string> files() const;

 private:
  std::filesystem::path parent_, path_;
  RemoveOnInterrupt removed_;
  Descriptor lock_;
};

}  // namespace sparsebit
