#pragma once

#include "sparsebit/quant/quant_model.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sparsebit::deploy {

/// Writes what these formats want of a calibrated model into a folder, which is made if it is not
/// there, and README.md, which says what each file is and how the vendor's tool loads it. Nothing
/// is written when a format throws or when two want the same name for different files.
///
/// @param formats     names in artefact_formats()
/// @param model_name  what the files are called: "model" -> "model.onnx"
/// @param title       headline of the README
/// @returns the files, README.md last.
std::vector<std::filesystem::path> deploy(const quant::QuantModel& model,
                                          const std::vector<std::string>& formats,
                                          const std::filesystem::path& folder,
                                          const std::string& model_name, const std::string& title);

}  // namespace sparsebit::deploy
