#include "support/ort.h"

#include "core/temp_dir.h"
#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/io/onnx_file.h"
#include "sparsebit/io/onnx_tensor.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

namespace sparsebit::exports::test::onnxruntime_test {
namespace {

using sparsebit::test::OrtCase;
using sparsebit::test::OrtResult;
using sparsebit::test::run_onnxruntime;
using sparsebit::test::TempDir;
using testing::ElementsAre;
using testing::HasSubstr;

void add_value(onnx::ValueInfoProto& info, const std::string& name, int type) {
  info.set_name(name);
  info.mutable_type()->mutable_tensor_type()->set_elem_type(type);
}

/// y = Reshape(x, -1), and x itself: two outputs of one type.
void save_model(const std::filesystem::path& path, at::ScalarType dtype) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(13);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("g");
  *graph.add_initializer() = io::to_tensor_proto(at::tensor({int64_t{-1}}), "flat");
  onnx::NodeProto& reshape = *graph.add_node();
  reshape.set_op_type("Reshape");
  for (const char* name : {"x", "flat"}) reshape.add_input(name);
  reshape.add_output("y");
  onnx::NodeProto& identity = *graph.add_node();
  identity.set_op_type("Identity");
  identity.add_input("x");
  identity.add_output("z");
  const int type = io::onnx_type_of(dtype);
  add_value(*graph.add_input(), "x", type);
  for (const char* name : {"y", "z"}) add_value(*graph.add_output(), name, type);
  io::save_onnx(model, path);
}

TEST(OnnxRuntime, ValuesOfAllTypesPassThrough) {
  const TempDir dir;
  const at::Tensor values = at::tensor({-2.5, 0.0, 1.0, 100.25, 3.0, 0.5}).reshape({2, 3});
  std::vector<OrtCase> cases;
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kHalf, at::kChar, at::kShort,
                                     at::kInt, at::kLong, at::kByte, at::kBool}) {
    const std::filesystem::path path = dir / (std::string(c10::toString(dtype)) + ".onnx");
    save_model(path, dtype);
    cases.push_back({.model = path, .inputs = {{"x", values.abs().to(dtype)}}});
  }
  save_model(dir / "scalar.onnx", at::kFloat);
  cases.push_back({.model = dir / "scalar.onnx", .inputs = {{"x", at::scalar_tensor(2.f)}}});
  cases.push_back({.model = dir / "scalar.onnx", .inputs = {{"x", at::empty({0, 3})}}});

  const std::vector<OrtResult> results = run_onnxruntime(cases);

  ASSERT_EQ(results.size(), cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(cases[i].model);
    const at::Tensor& x = cases[i].inputs.at("x");
    EXPECT_EQ(results[i].error, "");
    ASSERT_THAT(results[i].names, ElementsAre("y", "z"));
    EXPECT_EQ(results[i].outputs[0].scalar_type(), x.scalar_type());
    EXPECT_TRUE(at::equal(results[i].outputs[0], x.flatten()));
    EXPECT_TRUE(at::equal(results[i].outputs[1], x));
  }
}

TEST(OnnxRuntime, EveryLevelOfOptimizationIsAccepted) {
  const TempDir dir;
  save_model(dir / "m.onnx", at::kFloat);
  std::vector<OrtCase> cases;
  for (const char* level : {"disable", "basic", "all"}) {
    cases.push_back({.model = dir / "m.onnx", .inputs = {{"x", at::ones({2})}}, .optimize = level});
  }
  for (const OrtResult& result : run_onnxruntime(cases)) EXPECT_EQ(result.error, "");
}

TEST(OnnxRuntime, ABadModelDoesNotStopTheOthers) {
  const TempDir dir;
  write_file_atomically(dir / "bad.onnx", "no model");
  save_model(dir / "good.onnx", at::kFloat);
  const std::vector<OrtResult> results =
      run_onnxruntime({{.model = dir / "bad.onnx", .inputs = {}},
                       {.model = dir / "good.onnx", .inputs = {}},
                       {.model = dir / "good.onnx", .inputs = {{"x", at::ones({1})}}}});
  EXPECT_THAT(results[0].error, HasSubstr("bad.onnx"));
  EXPECT_THAT(results[1].error, HasSubstr("'x'"));
  EXPECT_EQ(results[2].error, "");
}

// --- a process that does not do what it should --------------------------------------------------

/// Sets a variable while it is alive.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    const char* const before = std::getenv(name);
    if (before != nullptr) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_) ::setenv(name_, before_->c_str(), 1);
    if (!before_) ::unsetenv(name_);
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

/// A shell script in place of the Python that has ONNX Runtime.
class StandIn {
 public:
  explicit StandIn(const std::string& script, const std::string& seconds = "60")
      : file_(write(dir_ / "python", script)),
        program_("SPARSEBIT_ONNXRUNTIME", file_),
        seconds_("SPARSEBIT_RUNTIME_SECONDS", seconds) {}

 private:
  static std::string write(const std::filesystem::path& file, const std::string& script) {
    write_file_atomically(file, "#!/bin/sh\n" + script);
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return file;
  }

  TempDir dir_;
  std::string file_;
  Variable program_, seconds_;
};

const std::string kStart = "echo '{\"ok\": true, \"version\": \"1\"}'\n";
const std::string kLoad =
    "read question; echo '{\"ok\": true, \"session\": 0, \"inputs\": [], \"outputs\": [\"y\"]}'\n";

std::string answers(const std::string& json) { return "read question; echo '" + json + "'\n"; }

/// The error of loading and running a model.
std::string error_with(const std::string& script, const std::string& seconds = "60") {
  const StandIn program(script, seconds);
  try {
    exports::OnnxRuntime runtime;
    const exports::OrtSession session = runtime.load("m.onnx");
    runtime.run(session, {});
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(OnnxRuntimeProcess, AnswersOfAStandIn) {
  EXPECT_EQ(error_with(kStart + kLoad +
                       answers(R"({"ok": true, "tensors": [{"type": "int8", )"
                               R"("shape": [2], "bytes": 2}]})") +
                       "printf ab"),
            "");
}

const std::string kLate = "did not answer within 2 s when asked to ";

TEST(OnnxRuntimeProcess, SilenceIsAnErrorAfterAWhile) {
  EXPECT_THAT(error_with("exec sleep 60", "2"),
              AllOf(HasSubstr("ONNX Runtime did not start: "), HasSubstr(kLate + "start")));
  EXPECT_THAT(
      error_with(kStart + "exec sleep 60", "2"),
      AllOf(HasSubstr("python' " + kLate + "load m.onnx"),
            HasSubstr("SPARSEBIT_RUNTIME_SECONDS=N in the environment gives it N seconds")));
}

TEST(OnnxRuntimeProcess, SilenceWhileAModelRunsIsAnError) {
  const std::string tensor =
      R"({"ok": true, "tensors": [{"type": "int8", "shape": [2], "bytes": 2}]})";
  EXPECT_THAT(error_with(kStart + kLoad + "exec sleep 60", "2"), HasSubstr(kLate + "run m.onnx"));
  EXPECT_THAT(error_with(kStart + kLoad + answers(tensor) + "printf a; exec sleep 60", "2"),
              HasSubstr(kLate + "run m.onnx"));
}

TEST(OnnxRuntimeProcess, UnexpectedAnswersAreErrors) {
  const std::string unexpected = "invalid reply from ONNX Runtime: ";
  EXPECT_THAT(error_with("echo hello"),
              HasSubstr("ONNX Runtime was not found (" + unexpected + "'hello' is not JSON"));
  EXPECT_EQ(error_with(kStart + answers("oops")), unexpected + "'oops' is not JSON");
  EXPECT_EQ(error_with(kStart + answers("{}")), unexpected + "an answer without 'ok'");
  EXPECT_EQ(error_with(kStart + answers(R"({"ok": true, "session": "a"})")),
            unexpected + "'session' with the size '\"a\"'");
  EXPECT_EQ(error_with(kStart + answers(R"({"ok": false})")),
            unexpected + "an answer without 'error'");
  EXPECT_EQ(error_with(kStart + kLoad + answers(R"({"ok": true, "tensors": [1, 2]})")),
            unexpected + "'tensors' has 2 entries instead of 1");
}

TEST(OnnxRuntimeProcess, AnnouncedSizesAreNotAllocatedBlindly) {
  EXPECT_THAT(error_with(kStart + kLoad +
                         answers(R"({"ok": true, "tensors": [{"type": "int8", "shape": )"
                                 R"([4000000000000000], "bytes": 4000000000000000}]})")),
              HasSubstr("the answer of ONNX Runtime with m.onnx needs 4 PB of memory"));
}

TEST(OnnxRuntimeProcess, NothingIsAskedAfterAnUnexpectedAnswer) {
  const StandIn program(kStart + "echo oops\n" + kLoad);
  exports::OnnxRuntime runtime;
  EXPECT_THROW(runtime.load("m.onnx"), Error);
  EXPECT_THAT([&] { runtime.load("m.onnx"); },
              testing::ThrowsMessage<Error>(HasSubstr("from ONNX Runtime: 'oops'")));
}

TEST(OnnxRuntimeProcess, ItsOwnErrorsLeaveItUsable) {
  const StandIn program(kStart + answers(R"({"ok": false, "error": "no\u001b model"})") + kLoad);
  exports::OnnxRuntime runtime;
  EXPECT_THAT([&] { runtime.load("m.onnx"); }, testing::ThrowsMessage<Error>("no\\x1b model"));
  EXPECT_THAT(runtime.load("m.onnx").outputs, ElementsAre("y"));
}

TEST(OnnxRuntimeProcess, PathsThatAreNotTextAreErrors) {
  const StandIn program(kStart + kLoad);
  exports::OnnxRuntime runtime;
  EXPECT_THAT(
      [&] { runtime.load("m\xff.onnx"); },
      testing::ThrowsMessage<Error>("ONNX Runtime cannot be asked to load m\\xff.onnx: a name "
                                    "or path is not UTF-8; rename it"));
  EXPECT_EQ(runtime.load("m.onnx").number, 0);
}

TEST(OnnxRuntimeProcess, TheTimeLimitIsANumberOfSeconds) {
  for (const char* text : {"0", "-1", "1s", "inf", "nan", "soon"}) {
    const StandIn program(kStart, text);
    try {
      exports::OnnxRuntime runtime;
      ADD_FAILURE() << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::InvalidArgument);
      EXPECT_EQ(e.what(),
                "SPARSEBIT_RUNTIME_SECONDS: expected a positive number of seconds, found '" +
                    std::string(text) + "'");
    }
  }
}

}  // namespace
}  // namespace sparsebit::exports::test::onnxruntime_test
