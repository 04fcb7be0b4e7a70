#include "sparsebit/core/temp_file.h"

#include "core/hidden_folder.h"
#include "sparsebit/core/atomic_file.h"

namespace sparsebit {

TempFile::TempFile(const std::string& suffix)
    : folder_(std::make_unique<HiddenFolder>(std::filesystem::temp_directory_path())),
      path_(folder_->path() / ("model" + suffix)) {
  write_file_atomically(path_, "");
}

TempFile::~TempFile() = default;

}  // namespace sparsebit
