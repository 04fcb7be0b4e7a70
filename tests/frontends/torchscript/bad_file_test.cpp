// Invalid files: the error is one line that names the file.

#include "core/temp_dir.h"
#include "frontends/torchscript/reference.h"
#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <caffe2/serialize/inline_container.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <fstream>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace sparsebit::frontends::testing::bad_file_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::filesystem::path write(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

/// One line, starting with the file's name.
void expect_one_line(const std::filesystem::path& path) {
  EXPECT_THAT(import_error(path), AllOf(StartsWith(path.string() + ": "), Not(HasSubstr("\n"))));
}

TEST(TorchScriptBadFile, IsKnownByItsFirstBytes) {
  EXPECT_TRUE(looks_like_torchscript(read(fixture("convnet.traced"))));
  EXPECT_FALSE(looks_like_torchscript("\x08\x07\x12\x07pytorch"));
  EXPECT_FALSE(looks_like_torchscript("PK"));
  EXPECT_FALSE(looks_like_torchscript(""));
}

TEST(TorchScriptBadFile, Missing) {
  EXPECT_EQ(import_error("no/such/file.pt"), "no/such/file.pt: cannot be opened for reading");
  EXPECT_EQ(import_error("/"), "/: cannot be opened for reading");
}

TEST(TorchScriptBadFile, NotAZipArchive) {
  const test::TempDir folder;
  for (const std::string bytes : {"", "PK", "hello, this is no model"}) {
    const auto path = write(folder.path() / "text.pt", bytes);
    EXPECT_EQ(import_error(path), path.string() + ": is not a TorchScript file: not a zip archive");
  }
}

TEST(TorchScriptBadFile, PlainTorchSave) {
  const std::string path = fixture("state_dict").string();
  EXPECT_EQ(import_error(path),
            path +
                ": has no TorchScript code; it was written by torch.save, not torch.jit.save "
                "(make one with torch.jit.trace or torch.jit.script)");
}

TEST(TorchScriptBadFile, WithoutForward) {
  const std::string path = fixture("no_forward").string();
  EXPECT_EQ(import_error(path), path + ": the model (class Method) has no method 'forward'");
}

TEST(TorchScriptBadFile, CutOffAnywhere) {
  const test::TempDir folder;
  const std::string bytes = read(fixture("containers.traced"));
  for (size_t size = 4; size < bytes.size(); size += bytes.size() / 40)
    expect_one_line(write(folder.path() / "cut.pt", bytes.substr(0, size)));
}

TEST(TorchScriptBadFile, AZipArchiveOfSomethingElse) {
  const test::TempDir folder;
  const std::string path = (folder.path() / "other.zip").string();
  {
    caffe2::serialize::PyTorchStreamWriter writer(path);
    writer.writeRecord("word/document.xml", "<x/>", 4);
    writer.writeEndOfFile();
  }
  EXPECT_EQ(import_error(path),
            path + ": is a zip archive, but was not written by torch: it has no data.pkl");
}

TEST(TorchScriptBadFile, WithoutARecord) {
  const test::TempDir folder;
  const std::string bytes = read(fixture("convnet.scripted"));
  for (const std::string record :
       {"data.pkl", "constants.pkl", "data/0", "version", "code/__torch__"}) {
    std::string changed = bytes;
    for (size_t at = changed.find("/" + record); at != std::string::npos;
         at = changed.find("/" + record, at))
      changed[at + 1] = '_';
    const auto path = write(folder.path() / "record.pt", changed);
    expect_one_line(path);
    if (record == "version") {
      EXPECT_EQ(import_error(path), path.string() + ": is damaged: it has no record 'version'");
    }
  }
}

/// libtorch itself would read beyond the end of these records.
/// All records of an archive under other names.
template <class Rename>
void copy_archive(const std::filesystem::path& from, const std::filesystem::path& to,
                  Rename rename) {
  caffe2::serialize::PyTorchStreamReader reader(from.string());
  caffe2::serialize::PyTorchStreamWriter writer(to.string());
  for (const std::string& name : reader.getAllRecords()) {
    if (name == "version" || name == ".data/version") continue;  // the writer adds it
    const auto [data, size] = reader.getRecord(name);
    writer.writeRecord(rename(name), data.get(), size);
  }
  writer.writeEndOfFile();
}

TEST(TorchScriptBadFile, CodeThatRunsWhenTheFileIsRead) {
  const test::TempDir folder;
  const auto written = folder.path() / "written", path = folder.path() / "net.pt",
             upper = folder.path() / "upper.pt";
  torch::jit::Module module("Net");
  module.register_parameter("w", at::ones({3}), false);
  module.register_attribute("training", c10::BoolType::get(), false);
  module.define(R"(
def __getstate__(self) -> Tuple[Tensor, bool]:
    return (self.w, self.training)

def __setstate__(self, state: Tuple[Tensor, bool]) -> None:
    self.w = state[0]
    self.training = state[1]
    torch.save(state[0], ")" +
                written.string() +
                R"(")

def forward(self, x):
    return x * self.w
)");
  module.save(path.string());
  EXPECT_THAT(import_error(path),
              AllOf(StartsWith(path.string() + ": record 'code/"),
                    HasSubstr("defines __setstate__, which would run when the file is read; "
                              "export the model to ONNX")));
  copy_archive(path, upper, [](std::string name) {
    if (name.starts_with("code/")) name.replace(0, 4, "CODE");
    return name;
  });
  EXPECT_THAT(import_error(upper), HasSubstr("defines __setstate__"));
  EXPECT_FALSE(std::filesystem::exists(written));
}

TEST(TorchScriptBadFile, LayoutOfOldVersions) {
  const test::TempDir folder;
  const auto path = folder.path() / "old.pt";
  caffe2::serialize::PyTorchStreamReader reader(fixture("convnet.traced").string());
  caffe2::serialize::PyTorchStreamWriter writer(path.string());
  for (const char* name : {"data.pkl", "constants.pkl"}) {
    const auto [data, size] = reader.getRecord(name);
    writer.writeRecord(name, data.get(), size);
  }
  writer.writeRecord("model.json", "{}", 2);
  writer.writeEndOfFile();
  EXPECT_EQ(import_error(path), path.string() +
                                    ": has a record 'model.json', the layout of torch before 1.4; "
                                    "load it with torch and save it again");
}

TEST(TorchScriptBadFile, RecordsShorterThanTheirTensors) {
  const test::TempDir folder;
  const std::string path = (folder.path() / "short.pt").string();
  for (const size_t kept : {size_t{0}, size_t{4}, size_t{24}}) {
    caffe2::serialize::PyTorchStreamReader reader(fixture("containers.traced").string());
    caffe2::serialize::PyTorchStreamWriter writer(path);
    for (const std::string& name : reader.getAllRecords()) {
      if (name == "version" || name == ".data/version") continue;
      const auto [data, size] = reader.getRecord(name);
      const bool tensor = name.starts_with("data/");
      writer.writeRecord(name, data.get(), tensor ? std::min(size, kept) : size);
    }
    writer.writeEndOfFile();
    EXPECT_EQ(import_error(path), path +
                                      ": tensor 'layers.0.weight' of shape [4, 4] is larger than "
                                      "its bytes in the file");
  }
}

#ifdef __SANITIZE_ADDRESS__
using ToleratedLeaks = __lsan::ScopedDisabler;
#else
struct ToleratedLeaks {
  ToleratedLeaks() {}  // not trivial, which avoids the warning about an unused variable
};
#endif

TEST(TorchScriptBadFile, ChangedBytes) {
  const test::TempDir folder;
  const std::string bytes = read(fixture("containers.scripted"));
  for (size_t at = 0; at < bytes.size(); at += 97) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x55);
    const auto path = write(folder.path() / "changed.pt", changed);
    try {
      const ToleratedLeaks
          of_libtorch;  // its zip reader leaks the table of an archive that it rejects
      import_torchscript(path);
    } catch (const Error& e) {
      EXPECT_THAT(std::string(e.what()),
                  AllOf(StartsWith(path.string() + ": "), Not(HasSubstr("\n"))))
          << "at byte " << at;
    }
  }
}

}  // namespace
}  // namespace sparsebit::frontends::testing::bad_file_test
