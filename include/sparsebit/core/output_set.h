#pragma once

#include <filesystem>
#include <memory>
#include <string>

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
  /// moves with it. Throws Io if the folder of the target is missing or not writable or the target
  /// is a folder or a device, and InvalidArgument if the target is staged already.
  std::filesystem::path stage(const std::filesystem::path& target);

  /// commit() removes `file`, if it is there, before anything else: a certificate of the model that
  /// is replaced. It may be staged as well.
  void remove_at_commit(const std::filesystem::path& file);

  /// Moves all staged files to their targets: those that were not staged by name first, then the
  /// others in the order of stage(). A file keeps the access mode of the one it replaces. Ctrl-C
  /// waits meanwhile. Throws Io, and then all targets are as they were.
  ///
  /// A process that is killed between two renames leaves the first files new and the others old:
  /// what must not stay beside a new file is given to remove_at_commit(). Where files that were not
  /// staged by name replace others, the old targets are removed first: a model is then missing
  /// rather than beside the weights of another one.
  void commit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A text with the paths of staged files replaced by those of their targets: for the messages of
/// what was given a staged path.
std::string with_target_paths(std::string text);

}  // namespace sparsebit
