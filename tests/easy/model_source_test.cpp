#include "easy/model_source.h"

#include "cli/model_files.h"
#include "core/temp_dir.h"
#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::easy::test::model_source_test {
namespace {

using namespace std::string_literals;
using namespace cli::test;  // models to save
using sparsebit::test::TempDir;
using testing::ThrowsMessage;

TEST(ModelSource, ContentDecidesNotTheName) {
  const TempDir dir;
  save_onnx_model(dir / "a.pt");
  save_torchscript_model(dir / "b.onnx");
  EXPECT_EQ(load_model(dir / "a.pt", {}).module->graph().placeholders()[1]->target(), "ids");
  EXPECT_EQ(load_model(dir / "b.onnx", {}).module->graph().placeholders()[0]->target(), "x");
}

TEST(ModelSource, ZooModelsComeWithInputs) {
  const LoadedModel model = load_model("zoo:resnet20", {});
  EXPECT_EQ(model.example_inputs.size(), 1);
  EXPECT_FALSE(model.module->is_training());
}

TEST(ModelSource, MissingFilesAreNamed) {
  EXPECT_THAT([] { load_model("/nowhere/m.onnx", {}); },
              ThrowsMessage<Error>("/nowhere/m.onnx: cannot read: No such file or directory"));
  EXPECT_THAT([] { load_model("/tmp", {}); },
              ThrowsMessage<Error>("/tmp: cannot read: Is a directory"));
  EXPECT_THAT(
      [] { load_model("resnet18", {}); },
      ThrowsMessage<Error>("resnet18: there is no such file; did you mean 'zoo:resnet18'?"));
}

TEST(ModelSource, OtherFilesAreCalledWhatTheyAre) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "the file is empty"},
      {"\x08\x01\0\0\0\0\0\0{\"w\":{}}"s, "a safetensors file, which has weights but no graph"},
      {"\x80\x02}q\x01."s, "a Python pickle, as an old torch.save writes it; use torch.jit.save"},
      {"\x80\x04}."s, "a Python pickle"},
      {"\x93NUMPY\x01\0"s, "a NumPy array"},
      {"version https://git-lfs.github.com/spec/v1\n",
       "a Git LFS pointer, not the file itself; run 'git lfs pull'"},
      {"<!DOCTYPE html><html>", "a web page"},
      {"\x1c\0\0\0TFL3"s, "a TensorFlow Lite model"},
      {"\x1f\x8b\x08\0"s, "a gzip file; unpack it first"},
      {"PK\x05\x06\0\0"s, "an empty zip archive"},
      {"hello\n", "a text file"},
      {"\x01\x02\x03\x04", "unknown file format"},
  };
  const TempDir dir;
  const std::string path = dir / "model.onnx";
  for (const auto& [bytes, description] : cases) {
    write_file_atomically(path, bytes);
    EXPECT_THAT(
        [&] { load_model(path, {}); },
        ThrowsMessage<Error>(path + ": not a model: " + description +
                             "; models are ONNX, TorchScript and torch.export (.pt2) files"));
  }
}

}  // namespace
}  // namespace sparsebit::easy::test::model_source_test
