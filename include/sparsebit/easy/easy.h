#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

// What `sparsebit quantize` does, in one call, for programs that want nothing else. This header
// includes the standard library only. The steps one by one are in quant/quant_model.h and
// export/quantized_onnx.h.

namespace sparsebit::easy {

/// Named like the options of `sparsebit quantize`, which error messages and warnings speak of.
struct QuantizeFileOptions {
  std::string platform = {};    ///< name or YAML file; empty: BACKEND of `config`, or onnxruntime
  std::string config = {};      ///< a YAML file; empty: the platform's default config
  std::string preprocess = {};  ///< of images: a preset or a YAML file; empty: guessed
  std::string tokenizer = {};   ///< of texts: file or folder; empty: beside the model
  std::vector<std::string> exclude = {};  ///< patterns of layers that stay float
  std::vector<std::string> shapes = {};   ///< of dynamic inputs: "NAME=1x3x224x224"
  std::vector<std::string> inputs = {};   ///< the same for every sample: "NAME=FILE.npy", "NAME=1"
  std::int64_t samples = 0;               ///< chosen at random with `seed`; 0 = all
  std::uint64_t seed = 0;
  int threads = 0;          ///< libtorch's, for the time of the call; 0 = as many as it has
  bool requantize = false;  ///< remove the quantization of an already quantized model first
  bool sequential = false;  ///< calibrate layer by layer, with all previous layers quantized
  bool certify = false;     ///< compare the file with ONNX Runtime, on `certify_samples` samples
  std::int64_t certify_samples = 32;
  std::string certificate = {};  ///< where to write it; empty: FILE.certificate.json
  bool force = false;            ///< overwrite the certificate of another file or of other data
  /// Called while the work goes on, from the thread of the call: "calibrating", 8, 256. What it
  /// throws ends the work, and no file is written. Empty: nothing is shown.
  std::function<void(const std::string& step, std::int64_t done, std::int64_t total)> on_progress =
      {};
};

/// A node that the platform computes in float.
struct FloatNode {
  std::string name;       ///< in the model's file, as far as it has one there
  std::string op;         ///< "conv2d"
  std::string reason;     ///< "its input 'conv1' is float"
  std::int64_t macs = 0;  ///< of one sample; 0 for operators without weights
};

/// What a certificate says; see docs/concepts/certificates.md.
struct CertificateSummary {
  std::string verdict;       ///< "passed", "failed" or "incomplete"
  std::string problem = {};  ///< why it did not pass, or useless quality; empty: all is well
  std::string quality = {};  ///< "good", "degraded" or "useless"; empty: not measured
  double snr = 0;            ///< to the float model, in decibels, if quality is measured
  std::optional<double> same_top1 = {};  ///< share of samples with the same best class, if classes
  std::optional<double> speedup = {};    ///< in ONNX Runtime: times as fast as the float model
  std::string file;                      ///< the certificate as JSON

  bool passed() const { return problem.empty(); }
};

struct QuantizedFile {
  std::string file;
  std::uint64_t bytes_before = 0;  ///< 0: the model is not a file
  std::uint64_t bytes = 0;
  std::string platform;
  std::int64_t samples = 0;
  bool random_data = false;  ///< calibrated with random numbers: not for deployment
  std::string preprocess;    ///< "imagenet", "none", "from preprocess.yaml"
  bool preprocess_guessed = false;
  double int8_macs = 0;   ///< share that the platform computes with integers, 0 to 1
  double int8_nodes = 0;  ///< the same, of nodes
  std::vector<FloatNode> float_nodes = {};  ///< most MACs first
  std::vector<std::string> warnings = {};
  std::optional<CertificateSummary> certificate = {};
};

/// Quantizes a model as `sparsebit quantize MODEL --data DATA -o OUTPUT` does.
///
///     const auto made = sparsebit::easy::quantize_file("net.onnx", "images/", "net.int8.onnx");
///     std::cout << made.bytes_before << " -> " << made.bytes << " bytes\n";
///
/// @param model   an ONNX, TorchScript or torch.export file, told apart by its content, or
///                "zoo:NAME".
/// @param data    calibration samples: a folder of images, a list of them, .npy, .npz, texts, a
///                manifest. Empty: random numbers, which show size and speed but are not for
///                deployment.
/// @param output  FILE.onnx with integer weights; any other name saves the simulation.
///
/// Throws sparsebit::Error (core/error.h), a std::exception, or what `on_progress` threw, and then
/// leaves `output` as it was. A certificate that did not pass is no exception: look at
/// `certificate`. Warnings are logged, too; core/log.h says where to.
QuantizedFile quantize_file(const std::string& model, const std::string& data,
                            const std::string& output, const QuantizeFileOptions& options = {});

}  // namespace sparsebit::easy
