#include "sparsebit/core/output_set.h"

#include "core/descriptor.h"
#include "core/output_folder.h"
#include "core/temporary_names.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/interrupt.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

namespace sparsebit {
namespace {

namespace fs = std::filesystem;

/// A hidden folder, removed with what is in it.
class HiddenFolder {
 public:
  explicit HiddenFolder(const fs::path& parent)
      : parent_(parent), path_(parent / temporary_name()), removed_(path_) {
    remove_abandoned_temporaries(parent);
    if (::mkdir(path_.c_str(), 0700) != 0)  // a replaced file may be private
      throw io_error(parent_, "cannot write to this folder", errno);
    lock_ = Descriptor(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    lock_temporary(lock_.get());
  }
  ~HiddenFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  HiddenFolder(const HiddenFolder&) = delete;
  HiddenFolder& operator=(const HiddenFolder&) = delete;

  const fs::path& parent() const { return parent_; }
  const fs::path& path() const { return path_; }

  /// Names of the files in it, sorted.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path_))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  fs::path parent_, path_;
  RemoveOnInterrupt removed_;
  Descriptor lock_;
};

void move_file(const fs::path& from, const fs::path& to) {
  struct stat old {};
  const bool replaces = ::stat(to.c_str(), &old) == 0 && S_ISREG(old.st_mode);
  if (replaces && ::chmod(from.c_str(), old.st_mode & 07777) != 0)
    throw io_error(to, "cannot set the access mode", errno);
  if (::rename(from.c_str(), to.c_str()) != 0) throw io_error(to, "cannot replace", errno);
}

}  // namespace

struct OutputSet::Impl {
  struct Staged {
    fs::path from, to;
  };

  HiddenFolder& folder_beside(const fs::path& target) {
    const fs::path parent = folder_of(target);
    for (const auto& folder : folders) {
      if (folder->parent() == parent) return *folder;
    }
    return *folders.emplace_back(std::make_unique<HiddenFolder>(parent));
  }

  bool is_staged(const fs::path& from) const {
    return std::any_of(staged.begin(), staged.end(),
                       [&](const Staged& file) { return file.from == from; });
  }

  std::vector<std::unique_ptr<HiddenFolder>> folders;
  std::vector<Staged> staged;
  std::vector<fs::path> removed;
};

OutputSet::OutputSet() : impl_(std::make_unique<Impl>()) {}
OutputSet::~OutputSet() = default;

fs::path OutputSet::stage(const fs::path& target) {
  const HiddenFolder& folder = impl_->folder_beside(target);
  impl_->staged.push_back({folder.path() / target.filename(), target});
  return impl_->staged.back().from;
}

void OutputSet::remove_at_commit(const fs::path& file) { impl_->removed.push_back(file); }

void OutputSet::commit() {
  const DeferInterrupts all_or_none;
  for (const fs::path& file : impl_->removed) {
    if (::unlink(file.c_str()) != 0 && errno != ENOENT)
      throw io_error(file, "cannot remove", errno);
  }
  for (const auto& folder : impl_->folders) {
    for (const std::string& name : folder->files()) {
      const fs::path from = folder->path() / name;
      if (!impl_->is_staged(from)) move_file(from, folder->parent() / name);
    }
  }
  for (const auto& [from, to] : impl_->staged) move_file(from, to);
  for (const auto& folder : impl_->folders) sync_folder(folder->parent());
  impl_->staged.clear();
  impl_->folders.clear();
}

}  // namespace sparsebit
