#include "core/hidden_folder.h"

#include "core/output_folder.h"
#include "core/temporary_names.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace sparsebit {
namespace {

namespace fs = std::filesystem;

/// Without "./", so that messages name what is written as it was given.
fs::path new_path_in(const fs::path& parent) {
  return parent == "." ? fs::path(temporary_name()) : parent / temporary_name();
}

}  // namespace

HiddenFolder::HiddenFolder(const fs::path& parent)
    : parent_(parent), path_(new_path_in(parent)), removed_(path_) {
  remove_abandoned_temporaries(parent);
  if (::mkdir(path_.c_str(), 0700) != 0)  // a replaced file may be private
    throw io_error(parent_, "cannot write to this folder", errno);
  lock_ = Descriptor(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  lock_temporary(lock_.get());
}

HiddenFolder::~HiddenFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::vector<std::string> HiddenFolder::files() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path_))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace sparsebit
