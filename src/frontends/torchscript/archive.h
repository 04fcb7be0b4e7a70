#pragma once

#include <torch/csrc/jit/api/module.h>

#include <filesystem>
#include <string>

namespace sparsebit::frontends::torchscript {

/// Loads a file that torch.jit.save wrote, on the CPU. Throws Io or InvalidModel with one line that
/// names the file.
torch::jit::Module load_archive(const std::filesystem::path& path);

/// The line of a libtorch message that says what is wrong, without backtrace and advice.
std::string first_line(const std::exception& e);

}  // namespace sparsebit::frontends::torchscript
