#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <string_view>

namespace sparsebit::frontends::pt2 {

/// The tensors of a dict that torch.save wrote, by key; values that are not tensors are left out.
///
/// Only the instructions and classes of dicts of tensors are supported; nothing is imported or
/// called. Throws InvalidModel or Unsupported for anything else.
///
/// @param archive  bytes of the file, itself a zip archive.
/// @param file     name of the archive in error messages.
std::map<std::string, at::Tensor> read_pickled_tensors(std::string_view archive,
                                                       const std::string& file);

}  // namespace sparsebit::frontends::pt2
