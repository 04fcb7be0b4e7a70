#pragma once

#include "sparsebit/io/dataset.h"

// The kinds of data sets; dataset.cpp tells them apart.

namespace sparsebit::io {

using DatasetPtr = std::unique_ptr<Dataset>;

bool has_image_suffix(const std::filesystem::path& file);
DatasetPtr open_image_file(const std::filesystem::path& file);
/// Images that a text file names, see is_image_list().
DatasetPtr open_image_list(const std::filesystem::path& list, const std::filesystem::path& labels);
/// @param files  inside the folder, in order.
/// @param notes  what is to be known of the folder beside them.
DatasetPtr open_image_folder(const std::filesystem::path& folder,
                             std::vector<std::filesystem::path> files,
                             const std::filesystem::path& labels, std::vector<std::string> notes);
DatasetPtr open_array(const std::filesystem::path& file);
DatasetPtr open_array_archive(const std::filesystem::path& file);
DatasetPtr open_mnist(const std::filesystem::path& file);
bool is_cifar(const std::filesystem::path& file);
DatasetPtr open_cifar(const std::vector<std::filesystem::path>& files);

/// Throws InvalidArgument unless the index is one of `size`.
void check_index(int64_t index, int64_t size);

}  // namespace sparsebit::io
