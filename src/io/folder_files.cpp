#include "io/folder_files.h"

#include "sparsebit/core/error.h"

#include <algorithm>
#include <system_error>

namespace sparsebit::io {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostNotes = 5;

class FolderWalk {
 public:
  explicit FolderWalk(const fs::path& folder) {
    std::error_code failed;
    const fs::directory_iterator root(folder, failed);
    SPARSEBIT_CHECK(!failed, Io, folder.string(), ": the folder cannot be read (", failed.message(),
                    ")");
    read(folder, root);
    while (!open_.empty()) {
      const fs::path next = std::move(open_.back());
      open_.pop_back();
      const fs::directory_iterator entries(next, failed);
      failed ? skip(next, failed.message()) : read(next, entries);
    }
  }

  FolderFiles take() {
    std::sort(found_.files.begin(), found_.files.end());
    std::sort(found_.notes.begin(), found_.notes.end());
    if (found_.notes.size() > kMostNotes) {
      const size_t more = found_.notes.size() - kMostNotes;
      found_.notes.resize(kMostNotes);
      found_.notes.push_back(std::to_string(more) + " more skipped");
    }
    return std::move(found_);
  }

 private:
  void skip(const fs::path& path, const std::string& why) {
    found_.notes.push_back(path.string() + ": skipped: " + why);
  }

  void read(const fs::path& folder, fs::directory_iterator entries) {
    std::error_code failed;
    while (entries != fs::directory_iterator()) {
      look_at(*entries);
      entries.increment(failed);
      if (failed) return skip(folder, failed.message());
    }
  }

  void look_at(const fs::directory_entry& entry) {
    std::error_code failed, ignored;
    const fs::file_status status = entry.status(failed);
    const bool is_link = entry.is_symlink(ignored);
    if (status.type() == fs::file_type::regular) {
      found_.files.push_back(entry.path());
    } else if (status.type() == fs::file_type::directory) {
      is_link ? skip(entry.path(), "links to folders are not followed")
              : open_.push_back(entry.path());
    } else if (is_link) {
      skip(entry.path(), status.type() == fs::file_type::not_found
                             ? "broken link"
                             : "the link does not lead to a regular file" +
                                   (failed ? " (" + failed.message() + ")" : ""));
    } else if (status.type() == fs::file_type::none || status.type() == fs::file_type::unknown) {
      skip(entry.path(), failed ? failed.message() : "not a regular file");
    }
  }

  std::vector<fs::path> open_;  // folders that are still to be read
  FolderFiles found_;
};

}  // namespace

FolderFiles files_in(const fs::path& folder) { return FolderWalk(folder).take(); }

}  // namespace sparsebit::io
