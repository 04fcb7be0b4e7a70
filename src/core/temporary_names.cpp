#include "core/temporary_names.h"

#include "core/descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <mutex>
#include <random>
#include <set>
#include <system_error>
#include <vector>

namespace sparsebit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = ".sparsebit-", kSuffix = ".tmp";
constexpr size_t kDigits = 16;

bool is_temporary_name(const std::string& name) {
  const bool fits = name.size() == kPrefix.size() + kDigits + kSuffix.size() &&
                    name.starts_with(kPrefix) && name.ends_with(kSuffix);
  return fits &&
         name.find_first_not_of("0123456789abcdef", kPrefix.size()) == name.size() - kSuffix.size();
}

/// A process locks its temporary right after it made it; the age covers the moment between.
bool is_abandoned(const fs::path& path) {
  constexpr std::time_t kSeconds = 10;
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  return descriptor.is_open() && ::fstat(descriptor.get(), &info) == 0 &&
         (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) &&
         info.st_mtime + kSeconds < std::time(nullptr) &&
         ::flock(descriptor.get(), LOCK_EX | LOCK_NB) == 0;
}

bool is_first_look(const fs::path& folder) {
  static std::mutex mutex;
  static std::set<fs::path> seen;
  const std::lock_guard lock(mutex);
  return seen.insert(folder).second;
}

}  // namespace

std::string temporary_name() {
  std::random_device entropy;
  return fmt::format("{}{:08x}{:08x}{}", kPrefix, entropy(), entropy(), kSuffix);
}

std::string without_temporary_folders(std::string text) {
  constexpr size_t kSize = kPrefix.size() + kDigits + kSuffix.size();
  size_t at = 0;
  while ((at = text.find(kPrefix, at)) != std::string::npos) {
    if (is_temporary_name(text.substr(at, kSize)) && text.substr(at + kSize, 1) == "/")
      text.erase(at, kSize + 1);
    else
      at += kPrefix.size();
  }
  return text;
}

void lock_temporary(int descriptor) { ::flock(descriptor, LOCK_EX | LOCK_NB); }

void remove_abandoned_temporaries(const fs::path& folder) {
  std::error_code failed;
  const fs::path absolute = fs::absolute(folder, failed);
  if (failed || !is_first_look(absolute)) return;
  std::vector<fs::path> abandoned;
  for (fs::directory_iterator entry(absolute, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const fs::path& path = entry->path();
    if (is_temporary_name(path.filename().string()) && is_abandoned(path))
      abandoned.push_back(path);
  }
  for (const fs::path& path : abandoned) fs::remove_all(path, failed);
}

}  // namespace sparsebit
