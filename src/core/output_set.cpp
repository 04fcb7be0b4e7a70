#include "sparsebit/core/output_set.h"

#include "core/hidden_folder.h"
#include "core/output_folder.h"
#include "core/temporary_names.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/interrupt.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>
#include <vector>

namespace sparsebit {
namespace {

namespace fs = std::filesystem;

/// One hidden folder for each folder that has targets.
class HiddenFolders {
 public:
  HiddenFolder& beside(const fs::path& target) {
    const fs::path parent = folder_of(target);
    for (const auto& folder : folders_) {
      std::error_code missing;
      if (fs::equivalent(folder->parent(), parent, missing)) return *folder;
    }
    return *folders_.emplace_back(std::make_unique<HiddenFolder>(parent));
  }

  const std::vector<std::unique_ptr<HiddenFolder>>& all() const { return folders_; }
  void clear() { folders_.clear(); }

 private:
  std::vector<std::unique_ptr<HiddenFolder>> folders_;
};

bool is_there(const fs::path& file) {
  struct stat info {};
  return ::lstat(file.c_str(), &info) == 0;
}

/// Renames and removals, all of which are undone unless keep() is called.
class Changes {
 public:
  Changes() = default;
  ~Changes() {
    for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
      if (change->backup.empty())
        ::unlink(change->file.c_str());
      else
        ::rename(change->backup.c_str(), change->file.c_str());
    }
  }
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;

  void remove(const fs::path& file) {
    if (!is_there(file)) return;
    check_target(file);
    back_up(file);
    if (::unlink(file.c_str()) != 0 && errno != ENOENT)
      throw io_error(file, "cannot remove", errno);
  }

  void move(const fs::path& from, const fs::path& to) {
    check_target(to);
    struct stat old {};
    const bool replaces = ::stat(to.c_str(), &old) == 0;
    if (replaces && ::chmod(from.c_str(), old.st_mode & 07777) != 0)
      throw io_error(to, "cannot set the access mode", errno);
    if (is_there(to)) back_up(to);
    if (::rename(from.c_str(), to.c_str()) != 0) throw io_error(to, "cannot replace", errno);
    if (changes_.empty() || changes_.back().file != to) changes_.push_back({to, {}});
  }

  void keep() { changes_.clear(); }

 private:
  struct Change {
    fs::path file, backup;  // no backup: the file is new
  };

  void back_up(const fs::path& file) {
    fs::path backup = backups_.beside(file).path() / std::to_string(changes_.size());
    // A link leaves the file where it is, should the process be killed; not all file systems have
    // them.
    if (::link(file.c_str(), backup.c_str()) != 0 && ::rename(file.c_str(), backup.c_str()) != 0)
      throw io_error(file, "cannot replace", errno);
    changes_.push_back({file, std::move(backup)});
  }

  HiddenFolders backups_;
  std::vector<Change> changes_;
};

}  // namespace

struct OutputSet::Impl {
  struct File {
    fs::path from, to;
  };

  bool is_staged(const fs::path& from) const {
    return std::any_of(staged.begin(), staged.end(),
                       [&](const File& file) { return file.from == from; });
  }

  /// What was written beside staged files: weights of a model.
  std::vector<File> files_beside() const {
    std::vector<File> beside;
    for (const auto& folder : folders.all()) {
      for (const std::string& name : folder->files()) {
        if (!is_staged(folder->path() / name))
          beside.push_back({folder->path() / name, folder->parent() / name});
      }
    }
    return beside;
  }

  HiddenFolders folders;
  std::vector<File> staged;
  std::vector<fs::path> removed;
};

OutputSet::OutputSet() : impl_(std::make_unique<Impl>()) {}
OutputSet::~OutputSet() = default;

fs::path OutputSet::stage(const fs::path& target) {
  check_target(target);
  const fs::path from = impl_->folders.beside(target).path() / target.filename();
  SPARSEBIT_CHECK(!impl_->is_staged(from), InvalidArgument, target.string(),
                  ": two outputs have the same path");
  impl_->staged.push_back({from, target});
  return from;
}

void OutputSet::remove_at_commit(const fs::path& file) { impl_->removed.push_back(file); }

void OutputSet::commit() {
  const DeferInterrupts all_or_none;
  const std::vector<Impl::File> beside = impl_->files_beside();
  Changes changes;
  for (const fs::path& file : impl_->removed) changes.remove(file);
  const bool replaces_weights =
      std::any_of(beside.begin(), beside.end(), [](const auto& file) { return is_there(file.to); });
  if (replaces_weights) {  // an old model must not be found with new weights
    for (const auto& file : impl_->staged) changes.remove(file.to);
  }
  for (const auto& [from, to] : beside) changes.move(from, to);
  for (const auto& [from, to] : impl_->staged) changes.move(from, to);
  changes.keep();
  for (const auto& folder : impl_->folders.all()) sync_folder(folder->parent());
  impl_->staged.clear();
  impl_->removed.clear();
  impl_->folders.clear();
}

std::string with_target_paths(std::string text) { return without_temporary_folders(text); }

}  // namespace sparsebit
