#pragma once

#include "sparsebit/core/output_set.h"
#include "sparsebit/quant/quant_model.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sparsebit::deploy {

/// Throws InvalidArgument when the folder has a README.md that deploy() did not write, or wrote for
/// another model or platform: a folder holds the files of one model and platform.
void check_deploy_folder(const std::filesystem::path& folder, const std::string& model_name,
                         const std::string& platform);

/// Writes a calibrated model in the given formats into a folder, created if missing, with a
/// README.md that says what each file is and how the vendor's tool loads it. Nothing is written
/// when a format throws, when two formats write files of the same name, or when
/// check_deploy_folder() throws. The files appear together, see OutputSet.
///
/// @param formats     names in artefact_formats()
/// @param model_name  stem of the file names: "model" -> "model.onnx"
/// @param title       headline of the README
/// @param read        input files, which must not be overwritten
/// @returns the files, README.md last.
std::vector<std::filesystem::path> deploy(const quant::QuantModel& model,
                                          const std::vector<std::string>& formats,
                                          const std::filesystem::path& folder,
                                          const std::string& model_name, const std::string& title,
                                          const std::vector<std::filesystem::path>& read = {});

/// The same for a program that writes other files together with these: they appear with
/// `outputs.commit()`.
std::vector<std::filesystem::path> stage_deploy(
    OutputSet& outputs, const quant::QuantModel& model, const std::vector<std::string>& formats,
    const std::filesystem::path& folder, const std::string& model_name, const std::string& title,
    const std::vector<std::filesystem::path>& read = {});

}  // namespace sparsebit::deploy
