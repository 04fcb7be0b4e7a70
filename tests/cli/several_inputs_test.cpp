#include "cli/run_command.h"
#include "core/temp_dir.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/export/onnx.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/tracer.h"
#include "sparsebit/io/npy.h"
#include "sparsebit/nn/layers.h"
#include "sparsebit/zoo/bert.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::cli::several_inputs_test {
namespace {

using test::Result;
using test::run_command;
using testing::HasSubstr;

/// A small BERT as exporters write it: three inputs with dynamic batch size and length.
class SeveralInputs : public testing::Test {
 protected:
  void SetUp() override {
    const auto bert = zoo::bert({.vocab_size = 220,
                                 .hidden_size = 32,
                                 .num_layers = 2,
                                 .num_heads = 4,
                                 .intermediate_size = 64,
                                 .max_positions = 40});
    nn::reset_parameters(*bert, 1);
    const auto graph = fx::Tracer().trace(*bert);
    graph->eval();
    const at::Tensor tokens = at::ones({2, 8}, at::kLong);
    fx::record_shapes(*graph, {tokens, tokens, tokens});
    exports::OnnxExportOptions options{.opset = 17};
    for (const fx::Node* input : graph->graph().placeholders())
      options.dynamic_axes[input->target()] = {{0, "batch"}, {1, "sequence"}};
    exports::export_onnx(*graph, model_, options);
    write_file_atomically(texts_, R"({"text": "the scale of a layer", "label": 3}
{"text": "zero point", "text_pair": "a whole number, found by calibration", "label": 0}
{"text": "quantization turns weights into integers", "label": 1}
{"text": "pruning removes channels", "label": 2}
)");
  }

  Result run(std::vector<std::string> words) const {
    std::vector<const char*> arguments;
    for (const std::string& word : words) arguments.push_back(word.c_str());
    return run_command(arguments);
  }

  const sparsebit::test::TempDir dir_;
  const std::string model_ = (dir_ / "bert.onnx").string();
  const std::string texts_ = (dir_ / "texts.jsonl").string();
  const std::string int8_ = (dir_ / "bert.int8.onnx").string();
  const std::string tokenizer_ = std::string(SPARSEBIT_TEXT_FIXTURES) + "/bert.json";
};

TEST_F(SeveralInputs, FromTextsToACertifiedFile) {
  const Result quantized = run({"quantize", model_, "--data", texts_, "--tokenizer", tokenizer_,
                                "-o", int8_, "--certify", "-q"});
  EXPECT_EQ(quantized.code, 0) << quantized.err;
  EXPECT_THAT(quantized.out, HasSubstr("calibrated with 4 samples for onnxruntime"));
  EXPECT_THAT(quantized.out, HasSubstr("certificate: passed (4 samples"));
  const Result again = run(
      {"certify", int8_, "--against", model_, "--data", texts_, "--tokenizer", tokenizer_, "-q"});
  EXPECT_EQ(again.code, 0) << again.err;
}

/// The tokenizer beside the model is found.
TEST_F(SeveralInputs, AnalyzeAndEval) {
  write_file_atomically(dir_ / "tokenizer.json", read_file(tokenizer_));
  const Result analyzed = run({"analyze", model_, "--data", texts_, "-q"});
  EXPECT_EQ(analyzed.code, 0) << analyzed.err;
  EXPECT_THAT(analyzed.out, HasSubstr("sqnr (dB)"));
  const Result rows = run({"eval", model_, "--data", texts_, "-q"});
  EXPECT_EQ(rows.code, 1);
  EXPECT_THAT(rows.err,
              HasSubstr("accuracy needs class scores; expected a first output of shape ["));
}

TEST_F(SeveralInputs, ArraysByName) {
  const at::Tensor ids = at::randint(5, 200, {6, 12}, at::kLong);
  const std::string folder = (dir_ / "arrays").string();
  std::filesystem::create_directories(folder);
  io::save_npy(folder + "/input_ids.npy", ids);
  const Result missing = run({"quantize", model_, "--data", folder, "-o", int8_, "-q"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.err, HasSubstr("contains neither a file"));
  const Result fixed = run({"quantize", "--data", folder, "-o", int8_, "-q", "--input",
                            "attention_mask=ones", "--input", "token_type_ids=zeros", model_});
  EXPECT_EQ(fixed.code, 0) << fixed.err;
  const Result typo =
      run({"quantize", model_, "--data", folder, "--input", "attention_mask", "-o", int8_, "-q"});
  EXPECT_NE(typo.code, 0);
  EXPECT_THAT(typo.err, HasSubstr("expected NAME=ones"));
}

}  // namespace
}  // namespace sparsebit::cli::several_inputs_test
