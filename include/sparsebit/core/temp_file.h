#pragma once

#include "sparsebit/core/interrupt.h"

#include <filesystem>
#include <optional>
#include <string>

namespace sparsebit {

/// A new empty file in the folder for temporary files, removed with this object or by an interrupt.
class TempFile {
 public:
  /// @param suffix  how its name ends: ".onnx". Throws Io.
  explicit TempFile(const std::string& suffix);
  ~TempFile();
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::optional<RemoveOnInterrupt> removed_;
};

}  // namespace sparsebit
