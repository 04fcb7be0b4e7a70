#pragma once

#include "sparsebit/io/dataset.h"

// The kinds of data sets; dataset.cpp detects which one to open.

namespace sparsebit::io {

using DatasetPtr = std::unique_ptr<Dataset>;

bool has_image_suffix(const std::filesystem::path& file);
DatasetPtr open_image_file(const std::filesystem::path& file);
/// The images listed in a text file, see is_image_list().
DatasetPtr open_image_list(const std::filesystem::path& list, const std::filesystem::path& labels);
/// @param files  the images in the folder, sorted.
/// @param notes  remarks about the folder, such as subfolders that could not be read.
DatasetPtr open_image_folder(const std::filesystem::path& folder,
                             std::vector<std::filesystem::path> files,
                             const std::filesystem::path& labels, std::vector<std::string> notes);
DatasetPtr open_array(const std::filesystem::path& file);
DatasetPtr open_array_archive(const std::filesystem::path& file);
DatasetPtr open_mnist(const std::filesystem::path& file);
bool is_cifar(const std::filesystem::path& file);
DatasetPtr open_cifar(const std::vector<std::filesystem::path>& files);

/// Throws InvalidArgument unless 0 <= index < size.
void check_index(int64_t index, int64_t size);

}  // namespace sparsebit::io
