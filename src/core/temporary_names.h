#pragma once

#include <filesystem>
#include <string>

namespace sparsebit {

// Unfinished files and folders of outputs are called `.sparsebit-<16 hex digits>.tmp` and locked
// (flock) while the process that writes them lives. One that is not locked was left by a process
// that was killed.

/// A new name every time. The name of the output is left out: with a suffix it could become longer
/// than names may be.
std::string temporary_name();

/// Without the temporary folders in the paths of a text: "out/.sparsebit-01...ef.tmp/net.onnx"
/// becomes "out/net.onnx".
std::string without_temporary_folders(std::string text);

/// Locks what the descriptor is open on, until it is closed. Some network file systems have no
/// locks; there nothing is removed as abandoned either.
void lock_temporary(int descriptor);

/// Removes abandoned temporary files and folders from `folder`, once per folder and process.
/// Failures are ignored: it is house-keeping.
void remove_abandoned_temporaries(const std::filesystem::path& folder);

}  // namespace sparsebit
