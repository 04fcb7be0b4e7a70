#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace sparsebit {

class HiddenFolder;

/// A new empty file in a hidden folder of its own, in the folder for temporary files. It is removed
/// with what is written beside it (weights in NAME.onnx.data): with this object, by an interrupt,
/// or, after SIGKILL, by the next process that makes one.
class TempFile {
 public:
  /// @param suffix  how its name ends: ".onnx". Throws Io.
  explicit TempFile(const std::string& suffix);
  ~TempFile();
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::unique_ptr<HiddenFolder> folder_;
  std::filesystem::path path_;
};

}  // namespace sparsebit
