#include "sparsebit/io/dataset.h"

#include "io/dataset_kinds.h"
#include "io/folder_files.h"
#include "io/image_header.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/mapped_file.h"

namespace sparsebit::io {
namespace {

namespace fs = std::filesystem;

void refuse_labels(const fs::path& labels, const fs::path& at_fault, const char* why) {
  SPARSEBIT_CHECK(labels.empty(), InvalidArgument, at_fault.string(), ": ", why);
}

constexpr const char* kForImages = "label files are only supported for folders and lists of images";
constexpr const char* kHasLabels = "the data contains labels; a label file cannot be given too";

std::unique_ptr<Dataset> open_folder(const fs::path& folder, const fs::path& labels) {
  std::vector<fs::path> images, binaries;
  FolderFiles found = files_in(folder);
  for (const fs::path& file : found.files) {
    if (has_image_suffix(file)) images.push_back(file);
    if (file.extension() == ".bin" && file.parent_path() == folder) binaries.push_back(file);
  }
  if (!images.empty())
    return open_image_folder(folder, std::move(images), labels, std::move(found.notes));
  SPARSEBIT_CHECK(!binaries.empty(), InvalidArgument, folder.string(),
                  ": contains no images (.jpg, .jpeg, .png, .bmp) and no CIFAR-10 files (.bin)",
                  found.notes.empty() ? "" : "; " + found.notes.front());
  refuse_labels(labels, folder, kHasLabels);
  return open_cifar(binaries);
}

std::unique_ptr<Dataset> open_file(const fs::path& file, const fs::path& labels) {
  const std::string start(MappedFile(file).bytes().substr(0, 6));
  const bool is_array = start == "\x93NUMPY", is_archive = start.starts_with("PK\x03\x04");
  if (is_array || is_archive) refuse_labels(labels, labels, kForImages);
  if (is_array) return open_array(file);
  if (is_archive) return open_array_archive(file);
  if (has_image_suffix(file) || read_image_size(MappedFile(file).bytes())) {
    refuse_labels(labels, file, "a label file cannot be given for a single image");
    return open_image_file(file);
  }
  if (is_image_list(file)) return open_image_list(file, labels);
  refuse_labels(labels, file, kHasLabels);
  const bool is_zipped = start.starts_with("\x1f\x8b");
  if (is_zipped || start.starts_with(std::string_view("\0\0\x08", 3))) return open_mnist(file);
  if (is_cifar(file)) return open_cifar({file});
  throw Error(
      ErrorKind::InvalidArgument,
      file.string() +
          ": unknown data format; expected an image, a list or folder of images, a .npy or .npz "
          "file, an MNIST idx file or a CIFAR-10 file");
}

}  // namespace

std::unique_ptr<Dataset> open_dataset(const fs::path& path, const fs::path& labels) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  SPARSEBIT_CHECK(status.type() != fs::file_type::not_found, Io, path.string(),
                  ": no such file or folder");
  SPARSEBIT_CHECK(!failed, Io, path.string(), ": cannot be read (", failed.message(), ")");
  return fs::is_directory(status) ? open_folder(path, labels) : open_file(path, labels);
}

}  // namespace sparsebit::io
