#pragma once

#include <nlohmann/json.hpp>

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>

namespace sparsebit::frontends::pt2 {

/// What a .pt2 file has: the program and its tensors, by the names that the program's signature
/// uses. Tensors that are one in the file are one object here.
struct Archive {
  nlohmann::json program;
  std::map<std::string, at::Tensor> weights;    ///< parameters and buffers
  std::map<std::string, at::Tensor> constants;  ///< the rest, with buffers that are not saved
};

/// Throws Error, without the file's name where it is not at fault as a whole.
Archive load_archive(const std::filesystem::path& path);

}  // namespace sparsebit::frontends::pt2
