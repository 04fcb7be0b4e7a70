#pragma once

#include "sparsebit/quant/quant_model.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sparsebit::deploy {

/// Writes what these formats want of a calibrated model into a folder, which is made if it is not
/// there, and README.md, which says what each file is and how the vendor's tool loads it. Nothing
/// is written when a format throws, when two want the same name for different files, or when there
/// is a README.md already that this function did not write. An interrupt finds all files or none.
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
