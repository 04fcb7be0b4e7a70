#pragma once

#include "sparsebit/quant/quant_model.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sparsebit::deploy {

/// Throws InvalidArgument when the folder has a README.md that deploy() did not write, or wrote for
/// another model or platform: a folder holds one.
void check_deploy_folder(const std::filesystem::path& folder, const std::string& model_name,
                         const std::string& platform);

/// Writes what these formats want of a calibrated model into a folder, which is made if it is not
/// there, and README.md, which says what each file is and how the vendor's tool loads it. Nothing
/// is written when a format throws, when two want the same name for different files, or when
/// check_deploy_folder() throws. An interrupt finds all files or none.
///
/// @param formats     names in artefact_formats()
/// @param model_name  what the files are called: "model" -> "model.onnx"
/// @param title       headline of the README
/// @param read        files that must not be overwritten: the model itself
/// @returns the files, README.md last.
std::vector<std::filesystem::path> deploy(const quant::QuantModel& model,
                                          const std::vector<std::string>& formats,
                                          const std::filesystem::path& folder,
                                          const std::string& model_name, const std::string& title,
                                          const std::vector<std::filesystem::path>& read = {});

}  // namespace sparsebit::deploy
