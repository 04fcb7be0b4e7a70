#include "cli/run_command.h"
#include "cli/tiny_detector.h"
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
#include <nlohmann/json.hpp>

#include <fstream>
#include <sstream>

namespace sparsebit::cli::eval_command_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Result;
using test::run_command;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Result run(const std::vector<std::string>& words) {
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  return run_command(arguments);
}

constexpr const char* kLetterbox = "letterbox: [64, 64]\nanchor: corner\nchannels: bgr\n";

// --- detectors -----------------------------------------------------------------------------------

class EvalDetector : public testing::Test {
 protected:
  void SetUp() override {
    test::save_tiny_detector(model_);
    test::save_squares(dir_ / "squares", 6);
    write_file_atomically(preprocess_, kLetterbox);
  }

  Result eval(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"eval",         model_,      "--data", images_,
                                      "--preprocess", preprocess_, "-q"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }

  const sparsebit::test::TempDir dir_;
  const std::string model_ = (dir_ / "detector.onnx").string();
  const std::string images_ = (dir_ / "squares" / "images").string();
  const std::string labels_ = (dir_ / "squares" / "labels").string();
  const std::string preprocess_ = (dir_ / "letterbox.yaml").string();
};

/// Images of two sizes, so that the letterbox matters; the labels folder beside them is found.
TEST_F(EvalDetector, EverySquareIsFound) {
  const Result result = eval({});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out,
            "mAP50 100.00 %   mAP50-95 100.00 %   of 6 images with 12 objects\n"
            "head yolox; classes are counted from 0; score above 0.01, NMS at IoU 0.65\n");
}

TEST_F(EvalDetector, WrongLabelsCost) {
  write_file_atomically(labels_ + "/0.txt", "0 0.5 0.5 0.1 0.1\n1 0.1 0.1 0.1 0.1\n");
  const json found = json::parse(eval({"--labels", labels_, "--json"}).out);
  EXPECT_LT(found["map50"], 90);
  EXPECT_EQ(found["head"], "yolox");
  EXPECT_EQ(found["objects"], 12);
  ASSERT_EQ(found["classes"].size(), 2u);
  EXPECT_EQ(found["classes"][1]["class"], 1);
  EXPECT_EQ(found["classes"][1]["objects"], 6);
}

/// COCO category ids, a crowd annotation, and an annotated image that is missing.
TEST_F(EvalDetector, CocoAnnotations) {
  const std::string file = (dir_ / "annotations.json").string();
  write_file_atomically(file, R"({
    "images": [{"id": 1, "file_name": "0.bmp"}, {"id": 2, "file_name": "missing.jpg"}],
    "categories": [{"id": 5, "name": "red"}, {"id": 9, "name": "blue"}],
    "annotations": [{"image_id": 1, "category_id": 5, "bbox": [0, 0, 32, 32]},
                    {"image_id": 1, "category_id": 9, "bbox": [0, 0, 128, 64], "iscrowd": 1}]})");
  const json found = json::parse(eval({"--labels", file, "--json"}).out);
  EXPECT_EQ(found["map50_95"], 100);
  EXPECT_EQ(found["samples"], 1);
  EXPECT_EQ(found["left_out"], 5);
  EXPECT_EQ(found["classes"][0]["name"], "red");
}

TEST_F(EvalDetector, Errors) {
  const Result head = eval({"--head", "torchvision"});
  EXPECT_EQ(head.code, 1);
  EXPECT_THAT(head.err,
              HasSubstr("the model outputs output [1, 84, 7], but the head 'torchvision' needs: "));
  EXPECT_THAT(head.err, HasSubstr("at the image '0.bmp'"));
  EXPECT_EQ(eval({"--head", "yolo9000"}).code, 2);
  write_file_atomically(labels_ + "/0.txt", "7 0.5 0.5 0.1 0.1\n");
  EXPECT_THAT(eval({}).err, HasSubstr("an object has class 7, but the model has only 2 classes"));
  fs::remove_all(labels_);
  EXPECT_THAT(eval({}).err, HasSubstr("there are no labels; give --labels (classes: a TSV file"));
}

/// Runs the commands of docs/how_to/quantize_a_detector.md verbatim on small data.
TEST_F(EvalDetector, HowTo) {
  fs::copy_file(model_, dir_ / "yolox_nano.onnx");
  test::save_squares(dir_ / "calibration", 8);
  test::save_squares(dir_ / "coco", 6);
  write_file_atomically(dir_ / "yolox.yaml", kLetterbox);
  std::ifstream page(SPARSEBIT_DOCS "/how_to/quantize_a_detector.md");
  const fs::path before = fs::current_path();
  fs::current_path(dir_.path());
  std::vector<Result> results;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("$ sparsebit ")) continue;
    std::istringstream text(line.substr(std::string("$ sparsebit ").size()));
    std::vector<std::string> words;
    for (std::string word; text >> word;) words.push_back(word);
    words.push_back("-q");
    results.push_back(run(words));
    EXPECT_EQ(results.back().code, 0) << line << "\n" << results.back().err;
  }
  fs::current_path(before);
  ASSERT_EQ(results.size(), 7u);
  EXPECT_THAT(results[0].out, HasSubstr("mAP50 100.00 %"));
  EXPECT_THAT(results[1].out, HasSubstr("certificate: passed"));
  EXPECT_THAT(results[2].out, HasSubstr("mAP50 100.00 %"));
  EXPECT_THAT(results[3].out, HasSubstr("sqnr (dB)"));
  EXPECT_THAT(results[4].out, HasSubstr("certificate: passed"));
  EXPECT_THAT(results[5].out, HasSubstr("mAP50 100.00 %"));
  EXPECT_THAT(results[6].out, HasSubstr("SNR (dB)"));
}

// --- any model -----------------------------------------------------------------------------------

class EvalAgainst : public testing::Test {
 protected:
  Result eval(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"eval", "zoo:resnet20", "--data", data_, "-q"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }

  void SetUp() override { io::save_npy(data_, at::randn({3, 3, 32, 32})); }

  const sparsebit::test::TempDir dir_;
  const std::string data_ = (dir_ / "x.npy").string();
};

TEST_F(EvalAgainst, ItselfIsTheSame) {
  const json found = json::parse(eval({"--against", "zoo:resnet20", "--json"}).out);
  EXPECT_EQ(found["samples"], 3);
  ASSERT_EQ(found["outputs"].size(), 1u);
  EXPECT_EQ(found["outputs"][0]["snr_db"], "inf");
  EXPECT_EQ(found["outputs"][0]["largest_difference"], 0);
  EXPECT_EQ(found["outputs"][0]["same_top1"], 100);
  EXPECT_FALSE(found.contains("similarities"));
  EXPECT_FALSE(found.contains("top1"));
}

TEST_F(EvalAgainst, AQuantizedOneIsNear) {
  const std::string int8 = (dir_ / "m.int8.onnx").string();
  const std::string simulation = (dir_ / "m.quantized").string();
  for (const std::string& file : {int8, simulation}) {
    ASSERT_EQ(run({"quantize", "zoo:resnet20", "--data", data_, "-o", file, "-q"}).code, 0);
    const Result result =
        run({"eval", file, "--against", "zoo:resnet20", "--data", data_, "--json", "-q"});
    ASSERT_EQ(result.code, 0) << result.err;
    const json output = json::parse(result.out)["outputs"][0];
    EXPECT_GT(output["cosine"], 0.95);
    EXPECT_GT(output["snr_db"], 10);
    EXPECT_LT(output["snr_db"], 80);
    EXPECT_GT(output["largest_difference"], 0);
  }
  const Result table = run({"eval", int8, "--against", "zoo:resnet20", "--data", data_, "-q"});
  EXPECT_THAT(table.out, HasSubstr("cosine  SNR (dB)  largest difference  same top-1\n"));
  // ONNX Runtime runs the same file.
  const Result there = run({"eval", int8, "--against", int8, "--data", data_, "--runtime",
                            "onnxruntime", "--json", "-q"});
  ASSERT_EQ(there.code, 0) << there.err;
  EXPECT_EQ(json::parse(there.out)["outputs"][0]["snr_db"], "inf");
}

/// With labels, both models are measured as well.
TEST_F(EvalAgainst, AccuracyOfBoth) {
  const std::string labelled = (dir_ / "cifar.bin").string();
  std::string records;  // records of a CIFAR-10 file: class, then pixels
  for (const char label : {1, 2, 3})
    records += label + std::string(3072, static_cast<char>(40 * label));
  write_file_atomically(labelled, records);
  const Result result = run(
      {"eval", "zoo:resnet20", "--data", labelled, "--against", "zoo:resnet20", "--json", "-q"});
  ASSERT_EQ(result.code, 0) << result.err;
  const json found = json::parse(result.out);
  EXPECT_EQ(found["top1"], found["against"]["top1"]);
  const Result untrained = run({"eval", "zoo:resnet20", "--data", labelled});
  EXPECT_THAT(untrained.err, HasSubstr("warning: top-1 accuracy of the model is "));
  EXPECT_EQ(found["outputs"][0]["same_top1"], 100);
}

TEST_F(EvalAgainst, OtherOutputsAreAnError) {
  const Result result = eval({"--against", "zoo:list"});
  EXPECT_NE(result.code, 0);
  const Result classes = eval({"--against", "zoo:mobilenet_v2"});
  EXPECT_EQ(classes.code, 1);
  EXPECT_THAT(classes.err, HasSubstr("no output can be compared with --against: the shapes of"));
  const Result other = eval({"--against", "zoo:bert"});
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err, HasSubstr("--against"));
}

// --- embeddings ----------------------------------------------------------------------------------

class EvalEmbedding : public testing::Test {
 protected:
  void SetUp() override {
    save_bert(model_, 1);
    save_bert(other_, 2);
    write_file_atomically(dir_ / "tokenizer.json",
                          read_file(std::string(SPARSEBIT_TEXT_FIXTURES) + "/bert.json"));
    write_file_atomically(pairs_,
                          "the scale of a layer\tthe scale of a layer\t5\n"
                          "zero point\ta whole number, found by calibration\t1\n"
                          "quantization turns weights into integers\tpruning removes channels\t2\n"
                          "pruning removes channels\tpruning removes a channel\t4\n");
  }

  static void save_bert(const std::string& file, uint64_t seed) {
    const auto bert = zoo::bert({.vocab_size = 220,
                                 .hidden_size = 32,
                                 .num_layers = 1,
                                 .num_heads = 4,
                                 .intermediate_size = 64,
                                 .max_positions = 40});
    nn::reset_parameters(*bert, seed);
    const auto graph = fx::Tracer().trace(*bert);
    graph->eval();
    const at::Tensor tokens = at::ones({2, 8}, at::kLong);
    fx::record_shapes(*graph, {tokens, tokens, tokens});
    exports::OnnxExportOptions options{.opset = 17};
    for (const fx::Node* input : graph->graph().placeholders())
      options.dynamic_axes[input->target()] = {{0, "batch"}, {1, "sequence"}};
    exports::export_onnx(*graph, file, options);
  }

  const sparsebit::test::TempDir dir_;
  const std::string model_ = (dir_ / "bert.onnx").string();
  const std::string other_ = (dir_ / "other.onnx").string();
  const std::string pairs_ = (dir_ / "pairs.tsv").string();
};

TEST_F(EvalEmbedding, CosinesFollowTheScores) {
  const Result result = run({"eval", model_, "--data", pairs_, "--json", "-q"});
  ASSERT_EQ(result.code, 0) << result.err;
  const json found = json::parse(result.out);
  EXPECT_EQ(found["pairs"], 4);
  EXPECT_GT(found["spearman"], 0.7);  // even random weights give equal texts equal embeddings
  EXPECT_GT(found["pearson"], 0.5);
  EXPECT_THAT(found["embedding"].get<std::string>(), HasSubstr("mean over the tokens of "));
  const json first = json::parse(
      run({"eval", model_, "--data", pairs_, "--pooling", "first", "--json", "-q"}).out);
  EXPECT_THAT(first["embedding"].get<std::string>(), HasSubstr("first token of "));
}

/// The chosen samples are compared with their own scores, not with the first scores of the file.
TEST_F(EvalEmbedding, SamplesKeepTheirScores) {
  const json found = json::parse(
      run({"eval", model_, "--data", pairs_, "--samples", "2", "--seed", "3", "--json", "-q"}).out);
  EXPECT_EQ(found["pairs"], 2);
  EXPECT_NEAR(std::abs(found["spearman"].get<double>()), 1, 1e-12);
}

TEST_F(EvalEmbedding, WithoutScoresTheSimilaritiesAreCompared) {
  const std::string texts = (dir_ / "texts.txt").string();
  write_file_atomically(texts, "the scale of a layer\nzero point\na whole number\nweights\n");
  const Result same = run({"eval", model_, "--against", model_, "--data", texts, "--json", "-q"});
  ASSERT_EQ(same.code, 0) << same.err;
  EXPECT_NEAR(json::parse(same.out)["similarities"]["spearman"].get<double>(), 1, 1e-12);
  EXPECT_EQ(json::parse(same.out)["similarities"]["pairs"], 6);
  const Result other = run({"eval", model_, "--against", other_, "--data", texts, "-q"});
  EXPECT_THAT(other.out, HasSubstr("similarities of samples: Spearman "));
  EXPECT_LT(json::parse(run({"eval", model_, "--against", other_, "--data", texts, "--json", "-q"})
                            .out)["similarities"]["pearson"]
                .get<double>(),
            0.9999);
}

}  // namespace
}  // namespace sparsebit::cli::eval_command_test
