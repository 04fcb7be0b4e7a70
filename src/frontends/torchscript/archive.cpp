#include "frontends/torchscript/archive.h"

#include "frontends/torchscript/archive_check.h"
#include "frontends/torchscript/foreign_operators.h"
#include "frontends/torchscript/large_stack.h"
#include "frontends/torchscript/newer_operators.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/core/letter_case.h"
#include "sparsebit/core/mapped_file.h"
#include "sparsebit/frontends/torchscript.h"

#include <ATen/ATen.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/import.h>

#include <malloc.h>

#include <algorithm>
#include <fstream>

namespace sparsebit::frontends {

bool looks_like_torchscript(std::string_view first_bytes) {
  return first_bytes.starts_with("PK\x03\x04");
}

namespace torchscript {
namespace {

[[noreturn]] void fail(ErrorKind kind, const std::filesystem::path& path, std::string what) {
  throw Error(kind, ErrorDetails{.what = std::move(what), .where = path.string()});
}

void check_magic(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || !std::filesystem::is_regular_file(path))
    fail(ErrorKind::Io, path, "cannot be opened for reading");
  char magic[4] = {};
  file.read(magic, sizeof magic);
  if (!looks_like_torchscript({magic, static_cast<size_t>(file.gcount())}))
    fail(ErrorKind::InvalidModel, path, "is not a TorchScript file: not a zip archive");
}

Checksums check_sizes(const std::filesystem::path& path) {
  const MappedFile file(path);
  Checksums checksums;
  const std::string problem = zip_problem(file.bytes(), checksums);
  if (!problem.empty()) fail(ErrorKind::InvalidModel, path, problem);
  return checksums;
}

/// libtorch finds records whatever the case of their letters.
bool is_code_record(const std::string& name) {
  const std::string lower = lower_case(name);
  return lower.starts_with("code/") && lower.ends_with(".py");
}

[[noreturn]] void fail_damaged(const std::filesystem::path& path, const std::string& record,
                               const std::string& problem) {
  fail(ErrorKind::InvalidModel, path, "record '" + record + "' is damaged: " + problem);
}

/// Facts about the code of an archive, before it is compiled.
struct CodeFacts {
  std::vector<std::string> foreign;  ///< operators of other libraries that it calls
  std::vector<std::string> unknown;  ///< unknown operators of torch
  int64_t depth = 0;                 ///< how deeply compiling it nests at most
};

/// libtorch runs `__setstate__` of a class while it loads a file, and TorchScript can write files.
void check_runs_nothing(const std::filesystem::path& path, const std::string& name,
                        std::string_view code) {
  if (code.find("__setstate__") == std::string_view::npos) return;
  fail(ErrorKind::Unsupported, path,
       "record '" + name +
           "' defines __setstate__, which would run when the file is read; export the model to "
           "ONNX, or without __getstate__ and __setstate__");
}

/// Checks a record that libtorch would read without validation. libtorch finds records regardless
/// of letter case.
///
/// @param facts  receives the facts about a record of code.
void check_record(const std::filesystem::path& path, const std::string& name,
                  caffe2::serialize::PyTorchStreamReader& reader, const Checksums& checksums,
                  CodeFacts& facts) {
  const std::string lower = lower_case(name);
  const bool is_pickle = lower.ends_with(".pkl") || lower.ends_with(".debug_pkl");
  const bool is_code = is_code_record(name);
  if (!is_pickle && !is_code) return;
  const auto [data, size] = reader.getRecord(name);
  const std::string_view bytes(static_cast<const char*>(data.get()), size);
  std::string problem = checksum_problem(name, bytes, checksums);
  if (problem.empty()) problem = is_code ? source_problem(bytes) : pickle_problem(bytes);
  if (!problem.empty()) fail_damaged(path, name, problem);
  if (!is_code) return;
  check_runs_nothing(path, name, bytes);
  for (std::string& name : declare_foreign_operators(bytes)) facts.foreign.push_back(name);
  for (std::string& name : declare_newer_operators(bytes)) facts.unknown.push_back(name);
  facts.depth += source_depth(bytes);
}

/// torch.save() writes zip archives too, but only with tensors and pickled Python objects.
void check_kind(const std::filesystem::path& path, const Checksums& records) {
  if (!records.contains("data.pkl"))
    fail(ErrorKind::InvalidModel, path,
         "is a zip archive, but was not written by torch: it has no data.pkl");
  if (!records.contains("constants.pkl"))
    fail(ErrorKind::InvalidModel, path,
         "has no TorchScript code; it was written by torch.save, not torch.jit.save (make one with "
         "torch.jit.trace or torch.jit.script)");
  if (!records.contains("version") && !records.contains(".data/version"))
    fail(ErrorKind::InvalidModel, path, "is damaged: it has no record 'version'");
  for (const auto& [name, checksum] : records) {
    if (lower_case(name) == "model.json")
      fail(ErrorKind::Unsupported, path,
           "has a record 'model.json', the layout of torch before 1.4; load it with torch and save "
           "it again");
  }
}

/// Checks all records.
CodeFacts check_records(const std::filesystem::path& path, const Checksums& checksums) {
  check_kind(path, checksums);
  caffe2::serialize::PyTorchStreamReader reader(path.string());
  CodeFacts facts;
  for (const std::string& name : reader.getAllRecords())
    check_record(path, name, reader, checksums, facts);
  return facts;
}

/// The stack that compiling needs: twice the measured maximum of 3 KB per level and 6 KB per
/// function, which counts as two levels.
size_t stack_for(const std::filesystem::path& path, int64_t depth) {
  constexpr int64_t kPerLevel = 6 << 10, kMost = int64_t{4} << 30;
  if (depth > kMost / kPerLevel)
    fail(ErrorKind::InvalidModel, path, "cannot be read: its code is nested too deeply");
  return kLargeStack + static_cast<size_t>(depth * kPerLevel);
}

/// Classes and functions, before libtorch imports them.
void check_definitions(const std::filesystem::path& path) {
  caffe2::serialize::PyTorchStreamReader reader(path.string());
  for (const std::string& name : reader.getAllRecords()) {
    if (!is_code_record(name)) continue;
    const auto [data, size] = reader.getRecord(name);
    const std::string problem = definitions_problem({static_cast<const char*>(data.get()), size});
    if (!problem.empty()) fail_damaged(path, name, problem);
  }
}

torch::jit::Module load_module(const std::filesystem::path& path, int64_t depth) {
  torch::jit::Module module;
  const auto load = [&] {
    check_definitions(path);
    module = torch::jit::load(path.string(), c10::Device(at::kCPU));
  };
  try {
    run_on_large_stack(stack_for(path, depth), load);
  } catch (const Error& e) {
    fail(e.kind(), path, e.details().what);
  }
  return module;
}

/// @param reason  the message of libtorch.
[[noreturn]] void fail_to_compile(const std::filesystem::path& path, const CodeFacts& facts,
                                  const std::string& reason) {
  if (!facts.foreign.empty())
    fail(ErrorKind::Unsupported, path,
         "calls " + facts.foreign.front() +
             ", an unknown operator of another library, and cannot be read without it (" + reason +
             "); export the model to ONNX with that library instead");
  if (!facts.unknown.empty())
    fail(ErrorKind::Unsupported, path,
         "calls " + facts.unknown.front() +
             ", an unknown operator, and cannot be read without it (" + reason +
             "); export the model to ONNX instead");
  fail(ErrorKind::InvalidModel, path, "cannot be read: " + reason);
}

void check_tensor(const std::filesystem::path& path, const std::string& name,
                  const at::Tensor& tensor) {
  const std::string problem = tensor_problem(tensor);
  if (!problem.empty()) fail(ErrorKind::InvalidModel, path, "tensor '" + name + "' " + problem);
}

}  // namespace

std::string tensor_problem(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.layout() != at::kStrided || !tensor.has_storage()) return {};
  for (const int64_t size : tensor.sizes()) {
    if (size < 0) return "has a negative size";
    if (size == 0) return {};
  }
  if (tensor.storage_offset() < 0) return "has a negative storage offset";
  auto last = static_cast<unsigned __int128>(tensor.storage_offset());
  for (int64_t i = 0; i < tensor.dim(); ++i) {
    if (tensor.stride(i) < 0) return "has a negative stride";
    last += static_cast<unsigned __int128>(tensor.size(i) - 1) * tensor.stride(i);
  }
  // libtorch trusts the size stated in the file, even if the record it read is shorter.
  const size_t stated = tensor.storage().nbytes();
  const size_t real = tensor.storage().data() ? malloc_usable_size(tensor.storage().data()) : 0;
  if ((last + 1) * tensor.itemsize() > std::min(stated, real))
    return c10::str("of shape ", tensor.sizes(), " is larger than its bytes in the file");
  return {};
}

std::string first_line(const std::exception& e) {
  const std::string text = reason_of(e);
  return text.substr(0, text.find('\n'));
}

torch::jit::Module load_archive(const std::filesystem::path& path) {
  check_magic(path);
  CodeFacts facts;
  try {
    facts = check_records(path, check_sizes(path));
    torch::jit::Module module = load_module(path, facts.depth);
    for (const auto& item : module.named_parameters()) check_tensor(path, item.name, item.value);
    for (const auto& item : module.named_buffers()) check_tensor(path, item.name, item.value);
    return module;
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    fail_to_compile(path, facts, first_line(e));
  }
}

}  // namespace torchscript
}  // namespace sparsebit::frontends
