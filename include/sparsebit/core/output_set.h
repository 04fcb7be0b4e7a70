#pragma once

#include <filesystem>
#include <memory>

namespace sparsebit {

/// Output files that appear together or not at all: a model, its weights and its certificate.
///
///     OutputSet outputs;
///     export_onnx(model, outputs.stage("net.onnx"));
///     write_file_atomically(outputs.stage("net.certificate.json"), certificate);
///     outputs.commit();
///
/// A staged file is written under its final name into a hidden folder beside its target, so that
/// files can refer to each other by name. commit() moves everything that was written there to the
/// targets. Without commit(), when an exception passes or at Ctrl-C (see clean_up_on_interrupt()),
/// the hidden folders are removed and the targets stay as they were. Those of a process that was
/// killed (SIGKILL) are removed by the next one that writes into the same folder.
class OutputSet {
 public:
  OutputSet();
  ~OutputSet();
  OutputSet(const OutputSet&) = delete;
  OutputSet& operator=(const OutputSet&) = delete;

  /// Where to write what will be `target`. A file written beside it (weights in NAME.onnx.data)
  /// moves with it. Throws Io if the folder of the target is missing or not writable.
  std::filesystem::path stage(const std::filesystem::path& target);

  /// commit() removes `file`, if it is there, before anything else: a certificate of the model that
  /// is replaced.
  void remove_at_commit(const std::filesystem::path& file);

  /// Moves all staged files to their targets: those that were not staged by name first, then the
  /// others in the order of stage(). A file keeps the access mode of the one it replaces. Ctrl-C
  /// waits meanwhile. A process that is killed between two renames leaves the first files new and
  /// the others old: what must not stay beside a new file is given to remove_at_commit(). Throws
  /// Io.
  void commit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sparsebit
